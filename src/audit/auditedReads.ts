import {
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  getOperationAST,
  valueFromASTUntyped,
} from "graphql";
import { storedId } from "../postgres/uuid.ts";
import { type Place, placesOf } from "./auditedPlaces.ts";

/** A read to record: its entity type, the row's id if there is one row, and the number of rows. */
export interface ReadRecord {
  entityType: string;
  entityId: string | null;
  metadata: {
    /** The name of the operation. */
    operation: string | null;
    /** The root field and its arguments; for nested rows `paths` instead. */
    field?: string;
    arguments?: Record<string, unknown>;
    /** The paths of the rows in the response, without list indexes. */
    paths?: string[];
    rows: number;
  };
}

/** The statement that writes audit records of reads. */
export interface Recording {
  name: string;
  text: string;
  values: string[];
}

export function recordingOf(reads: readonly ReadRecord[]): Recording {
  return {
    name: "record_reads",
    text: `select record_reads(array_agg(r ->> 'entityType'), array_agg(r ->> 'entityId'), array_agg(r -> 'metadata'))
      from jsonb_array_elements($1::jsonb) as r`,
    values: [JSON.stringify(reads)],
  };
}

interface Executed {
  data?: Record<string, unknown> | null;
  errors?: readonly { path?: readonly (string | number)[] }[];
}

/**
 * The reads of audited types in an executed operation: one record for each root query that declares `auditReads`, with
 * its arguments, and one for each type that occurs nested or in the response of a mutation. Errors, nulls and
 * unselected fields are not reads.
 */
export function readsOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Record<string, unknown>,
  result: Executed,
): ReadRecord[] {
  const operation = getOperationAST(document, operationName);
  const { data } = result;
  if (!operation || !data) return [];
  const places = placesOf(schema, document, operation);
  if (places.length === 0) return [];
  const values = withDefaults(operation, variables);
  const name = operation.name?.value ?? null;
  const failed = new Set<unknown>(
    (result.errors ?? []).flatMap(({ path }) => (path?.length === 1 ? path : [])),
  );
  const records: ReadRecord[] = [];
  const along = new Map<string, { paths: Set<string>; ids: Set<string | null>; rows: number }>();

  /** Counts the rows at a field and below it. */
  const visit = (
    place: Place,
    value: unknown,
    given: Record<string, unknown>,
    recorded = false,
  ): void => {
    if (Array.isArray(value)) {
      for (const item of value) visit(place, item, given, recorded);
      return;
    }
    if (typeof value !== "object" || value === null) return;
    const row = value as Record<string, unknown>;
    if (place.entityType !== null && !recorded) {
      const seen = along.get(place.entityType) ?? { paths: new Set(), ids: new Set(), rows: 0 };
      along.set(place.entityType, seen);
      seen.paths.add(place.path);
      for (const id of idsOf(place, row, given)) seen.ids.add(id);
      seen.rows += countRows(place, row);
    }
    for (const child of place.children) visit(child, row[child.key], {});
  };

  for (const place of places) {
    const value = data[place.key];
    if (value === undefined || failed.has(place.key)) continue;
    const given = argumentsOf(place.nodes[0], values);
    const isQuery = operation.operation === "query" && place.entityType !== null;
    if (isQuery && place.entityType !== null)
      records.push({
        entityType: place.entityType,
        entityId: storedIdArgument(given),
        metadata: {
          operation: name,
          field: place.nodes[0].name.value,
          ...(Object.keys(given).length > 0 ? { arguments: given } : {}),
          rows: countRows(place, value),
        },
      });
    visit(place, value, given, isQuery);
  }
  for (const [entityType, { paths, ids, rows }] of along) {
    const [id = null] = ids;
    records.push({
      entityType,
      entityId: ids.size === 1 ? id : null,
      // In document order, independent of the rows.
      metadata: { operation: name, paths: pathsOf(places).filter((path) => paths.has(path)), rows },
    });
  }
  return records;
}

function pathsOf(places: readonly Place[]): string[] {
  return places.flatMap(({ path, children }) => [path, ...pathsOf(children)]);
}

/** The ids of the row at a field, or of the rows of a page. */
function idsOf(
  place: Place,
  row: Record<string, unknown>,
  given: Record<string, unknown>,
): (string | null)[] {
  if (place.pageKeys === null) return [idOf(place, row, given)];
  return place.rows.flatMap(({ keys: [list = "", inner], idKey }) => {
    const items = row[list];
    return (Array.isArray(items) ? (items as unknown[]) : []).map((item) => {
      const shown = inner === undefined ? item : memberOf(item, inner);
      const id = idKey === null ? null : memberOf(shown, idKey);
      return typeof id === "string" ? id : null;
    });
  });
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

/** The id of the row, from the response or the arguments. */
function idOf(
  { idKey, entityType }: Place,
  row: Record<string, unknown>,
  given: Record<string, unknown>,
): string | null {
  const { [`${entityType?.toLowerCase() ?? ""}Id`]: named = null } = given;
  const id = (idKey === null ? undefined : row[idKey]) ?? given.id ?? named;
  return typeof id === "string" ? storedId(id) : null;
}

/** The id argument in its stored form. */
export function storedIdArgument({ id }: Record<string, unknown>): string | null {
  return typeof id === "string" ? storedId(id) : null;
}

/** The variables as sent, with defaults for missing ones. */
export function withDefaults(
  operation: OperationDefinitionNode,
  sent: Record<string, unknown>,
): Record<string, unknown> {
  const defaults = (operation.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
    defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)] as const] : [],
  );
  return defaults.length === 0 ? sent : { ...Object.fromEntries(defaults), ...sent };
}

/** The arguments of a field as sent. */
export function argumentsOf(
  node: FieldNode,
  variables: Record<string, unknown>,
): Record<string, unknown> {
  return Object.fromEntries(
    (node.arguments ?? []).map((argument) => [
      argument.name.value,
      valueFromASTUntyped(argument.value, variables),
    ]),
  );
}

function countRows(place: Place, value: unknown): number {
  if (Array.isArray(value))
    return value.reduce<number>((sum, item) => sum + countRows(place, item), 0);
  if (typeof value !== "object" || value === null) return 0;
  if (place.pageKeys === null) return 1;
  const lists = place.pageKeys.map((key) => (value as Record<string, unknown>)[key]);
  return Math.max(0, ...lists.map((list) => (Array.isArray(list) ? list.length : 0)));
}
