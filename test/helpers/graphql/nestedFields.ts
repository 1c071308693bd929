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

/** Rows of each nested field, at most. */
const pageSize = 5;

type Field = GraphQLField<unknown, unknown>;

/** The root fields of lists, each with a document that asks for every nested row so many levels down. */
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

/** The fields of a type that show other objects. */
function rowsOf(type: GraphQLObjectType): Field[] {
  return Object.values(type.getFields()).filter(
    (field) => isObjectType(getNamedType(field.type)) && !field.args.some(isRequiredArgument),
  );
}

function isPage(type: GraphQLObjectType): boolean {
  return "pageInfo" in type.getFields();
}

/** The fields of an answer that show rows whose type needs other permissions than the one that the caller holds. */
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

/** How the paths of one answer compare with those of another that shows everything. */
export interface Comparison {
  /** Where it lacks something. */
  lost: Set<string>;
  /** Where it shows all of something. */
  whole: Set<string>;
}

/** Compares the rows that both answers show. */
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
      // Rows at the root depend on more than permissions: one's own jobs, for one.
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

/** An entry of `extensions.hidden`, its path in one text. */
export function entry(path: string, requiredPermission: string) {
  return { path: path.split("."), requiredPermission };
}

export type HiddenEntry = ReturnType<typeof entry>;

export function hiddenIn(answer: object): HiddenEntry[] | undefined {
  return (answer as { extensions?: { hidden?: HiddenEntry[] } }).extensions?.hidden;
}
