import type pg from "pg";
import type { SearchEngine, SearchEngineField } from "../gateways/search.ts";

/** A field of a collection as the database defines it. */
export interface DefinedField {
  name: string;
  type: SearchEngineField["type"];
  searchable: boolean;
  filterable: boolean;
  sortable: boolean;
  facet: boolean;
}

/** The state of a collection. */
export interface CollectionState {
  /** The name in the API and in the tags. */
  type: string;
  /** The engine's alias, which points to the active version. */
  collection: string;
  /** Null when no tag declares the collection any more. */
  definition: { fields: DefinedField[]; own: string[] | null } | null;
  /** The signature of the current definition. */
  wanted: string | null;
  version: string | null;
  signature: string | null;
  building: string | null;
  building_signature: string | null;
  building_cursor: string | null;
  /** Why the engine refused to build a new version. */
  error: string | null;
}

/** The dependencies of index maintenance. */
export interface SearchWork {
  engine: SearchEngine;
  /**
   * Runs a transaction in the tenant that commits only while this worker owns the job, and so may write to the engine.
   */
  inTenant: <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  /** Runs a transaction in the tenant without an ownership check. */
  reportInTenant: <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  signal: AbortSignal;
  log: { info(details: object, line: string): void; error(details: object, line: string): void };
}

/** Batches older than this are dropped: a paused worker may have lost ownership and would overwrite newer rows. */
export const maxBatchAgeMs = 2_000;
/** Rows per batch. */
export const batchSize = 500;

export async function readStates(client: pg.ClientBase): Promise<CollectionState[]> {
  return (await client.query<CollectionState>("select * from search_state()")).rows;
}

/**
 * Converts a collection's definition to engine fields. `visibleTo` is added where rows are visible to their owner only.
 */
export function engineFields(
  definition: NonNullable<CollectionState["definition"]>,
): SearchEngineField[] {
  const fields = definition.fields.map(
    ({ name, type, searchable, filterable, sortable, facet }) => ({
      name,
      type,
      facet,
      sort: sortable,
      index: searchable || filterable || sortable || facet,
    }),
  );
  if (definition.own === null) return fields;
  return [...fields, { name: "visibleTo", type: "string", facet: false, sort: false, index: true }];
}
