import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  isRequiredArgument,
} from "graphql";

import { visibilityOfRows } from "../../../src/graphql/visibility.ts";

/** Maximum number of rows of each nested field. */
const pageSize = 5;

type Field = GraphQLField<unknown, unknown>;

/** Documents by list field of the query root, with nested rows to the given depth. */
export function nestedDocuments(schema: GraphQLSchema, depth: number): Map<string, string> {
  const documents = new Map<string, string>();
  for (const field of Object.values(schema.getQueryType()?.getFields() ?? {})) {
    const type = getNamedType(field.type);
    const isList = isListType(getNullableType(field.type)) || (isObjectType(type) && isPage(type));
    if (isObjectType(type) && isList && !field.args.some(isRequiredArgument))
      documents.set(field.name, selectionOf(field, depth));
  }
  return documents;
}

/** A field with the nested rows below it. */
export function selectionOf(field: Field, depth: number): string {
  const type = getNamedType(field.type);
  if (!isObjectType(type)) return field.name;
  const first = field.args.some(({ name }) => name === "first") ? `(first: ${pageSize})` : "";
  const row = isPage(type) ? getNamedType(type.getFields()["nodes"]?.type) : type;
  if (!isObjectType(row)) return field.name;
  const columns = ["id", "name", "email", "key", "erpOrderNumber"].filter(
    (name) => name in row.getFields(),
  );
  const nested = depth > 0 ? rowsOf(row).map((inner) => selectionOf(inner, depth - 1)) : [];
  const inner = `{ ${["__typename", ...columns, ...nested].join(" ")} }`;
  return `${field.name}${first} ${isPage(type) ? `{ nodes ${inner} }` : inner}`;
}

/** The fields of a type that return objects. */
function rowsOf(type: GraphQLObjectType): Field[] {
  return Object.values(type.getFields()).filter(
    (field) => isObjectType(getNamedType(field.type)) && !field.args.some(isRequiredArgument),
  );
}

function isPage(type: GraphQLObjectType): boolean {
  return "pageInfo" in type.getFields();
}

/** The fields of a response that show rows for which the caller lacks the permission. */
export function foreignRows(
  schema: GraphQLSchema,
  value: unknown,
  held: string,
  field = "",
  holder = "",
): string[] {
  if (Array.isArray(value))
    return value.flatMap((item) => foreignRows(schema, item, held, field, holder));
  if (typeof value !== "object" || value === null) return [];
  const { __typename: name, ...values } = value as Record<string, unknown>;
  const type = typeof name === "string" ? schema.getType(name) : undefined;
  const rows = isObjectType(type) ? visibilityOfRows(type) : null;
  const isForeign =
    rows !== null && holder !== "" && rows.need !== null && !rows.need.keys.includes(held);
  return [
    ...(isForeign ? [`${holder}.${field}`] : []),
    ...Object.entries(values).flatMap(([key, inner]) =>
      typeof name === "string"
        ? foreignRows(schema, inner, held, key, name)
        : foreignRows(schema, inner, held, key === "nodes" ? field : key, holder),
    ),
  ];
}

/** The differences between a response and one that shows everything. */
export interface Comparison {
  /** Paths with missing data. */
  lost: Set<string>;
  /** Paths with complete data. */
  whole: Set<string>;
}

/** Compares the rows that are in both responses. */
export function compare(all: unknown, shown: unknown, path: string[] = []): Comparison {
  const found: Comparison = { lost: new Set(), whole: new Set() };
  walk(all, shown, path, found);
  for (const lost of found.lost) found.whole.delete(lost);
  return found;
}

function walk(all: unknown, shown: unknown, path: string[], found: Comparison): void {
  const name = path.filter((key) => key !== "nodes").join(".");
  if (all === null || all === undefined || (Array.isArray(all) && all.length === 0)) return;
  if (Array.isArray(all)) {
    const rows = (Array.isArray(shown) ? shown : []) as { id?: string }[];
    for (const [index, row] of (all as { id?: string }[]).entries()) {
      const same = row.id === undefined ? rows[index] : rows.find(({ id }) => id === row.id);
      // Root rows depend on more than permissions, for example the caller's own jobs.
      if (same) walk(row, same, path, found);
      else if (path.filter((key) => key !== "nodes").length > 1) found.lost.add(name);
    }
    if (rows.length > 0) found.whole.add(name);
    return;
  }
  if (shown === null || shown === undefined) {
    found.lost.add(name);
    return;
  }
  found.whole.add(name);
  if (typeof all !== "object") return;
  for (const [key, value] of Object.entries(all))
    walk(value, (shown as Record<string, unknown>)[key], [...path, key], found);
}

/** An entry of `extensions.hidden`; `path` is separated by dots. */
export function entry(path: string, requiredPermission: string) {
  return { path: path.split("."), requiredPermission };
}

export type HiddenEntry = ReturnType<typeof entry>;

export function hiddenIn(answer: object): HiddenEntry[] | undefined {
  return (answer as { extensions?: { hidden?: HiddenEntry[] } }).extensions?.hidden;
}
