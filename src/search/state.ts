import type pg from "pg";
import type { SearchEngine, SearchEngineField } from "../gateways/search.ts";

/** A field of a collection, as the database defines it. */
export interface DefinedField {
  name: string;
  type: SearchEngineField["type"];
  searchable: boolean;
  filterable: boolean;
  sortable: boolean;
  facet: boolean;
}

/** Where a collection stands. */
export interface CollectionState {
  /** Its name in the API and in the tags. */
  type: string;
  /** Its name in the engine: an alias, which leads to the version that serves. */
  collection: string;
  /** Null for one that no tag asks for any more. */
  definition: { fields: DefinedField[]; own: string[] | null } | null;
  /** The signature that the version which serves is to have. */
  wanted: string | null;
  version: string | null;
  signature: string | null;
  building: string | null;
  building_signature: string | null;
  building_cursor: string | null;
  /** Why the engine refused to build a new version. */
  error: string | null;
}

/** What keeping the engine up to date works with. */
export interface SearchWork {
  engine: SearchEngine;
  /** A transaction in the tenant, by whoever is to write to the engine now, and nobody else. */
  inTenant: <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  /** A transaction in the tenant, by whoever. */
  reportInTenant: <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  signal: AbortSignal;
  log: { info(details: object, line: string): void; error(details: object, line: string): void };
}

/**
 * What was read longer ago, in milliseconds, is not sent any more: whoever has been frozen since may have been replaced, and would
 * put old rows over new ones.
 */
export const freshMs = 2_000;
/** How many rows are read and sent at once. */
export const batchSize = 500;

export async function readStates(client: pg.ClientBase): Promise<CollectionState[]> {
  return (await client.query<CollectionState>("select * from search_state()")).rows;
}

/** What the engine is told of a collection's fields. Each document also says whose it is, where rows show only to their owners. */
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
