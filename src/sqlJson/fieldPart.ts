import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type SelectionSetNode,
  Kind,
  getNamedType,
  isObjectType,
  print,
} from "graphql";
import { LRUCache } from "lru-cache";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import { MAX_LIST_SIZE, checkOffset, checkSize } from "../paging/pageArguments.ts";
import { type Bind, type BindNth, type Bindable, bindValue } from "../query/bind.ts";
import { sqlJsonFieldOf, type Members, type Rows } from "./sqlJsonField.ts";
import { type Part, readLimit, shapeOf, type Row } from "./rows.ts";
import { orderColumns } from "./order.ts";
import { type RequestedPage, type ResolvedArguments, pagePart } from "./pagePart.ts";
import {
  type Fragments,
  UnsupportedSelection,
  fieldOf,
  fieldsOf,
  assertOnly,
} from "./selection.ts";

type Arguments = Record<string, unknown>;

/** The resolved arguments of a field. */
export interface FieldPart extends ResolvedArguments {
  kind: FieldKind;
  /**
   * Whether PostgreSQL must plan each execution. A kept plan suits a page or a total, but in a statement with both the
   * cost of the total decides, and the page would be found by sorting all matches.
   */
  usesCustomPlan?: boolean;
}

type FieldKind =
  | { kind: "one"; rows: Rows; wanted: (row: Row, bind: BindNth) => SQL }
  | { kind: "list"; rows: Rows; part: (bind: BindNth) => Part }
  | ({ kind: "page" } & RequestedPage)
  | { kind: "object"; members: (bind: BindNth) => Members };

const partCache = new LRUCache<string, FieldPart>({
  max: 2_000,
  maxSize: 1_000_000,
  sizeCalculation: (_part, key) => key.length,
});

/** A cached {@link fieldPart}. `owner` identifies the field of the document. @throws Error as fieldPart does */
export function cachedFieldPart(owner: string, ...input: Parameters<typeof fieldPart>): FieldPart {
  const [, field, , args] = input;
  // Computing this is as fast as looking it up.
  if (sqlJsonFieldOf(field.extensions)?.kind === "rootOne") return fieldPart(...input);
  const key = `${owner} ${JSON.stringify(args)}`;
  const known = partCache.get(key);
  if (known) return known;
  const part = fieldPart(...input);
  if (part.isCacheable) partCache.set(key, part);
  return part;
}

/** @throws Error where the request is wrong or Grafast has to answer */
export function fieldPart(
  fragments: Fragments,
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  args: Arguments,
): FieldPart {
  const sqlJson = sqlJsonFieldOf(field.extensions);
  switch (sqlJson?.kind) {
    case "rootOne": {
      const { rows, key } = sqlJson;
      const values = key.map(({ argument }) => args[argument]);
      const isGiven = values.every(
        (value) => typeof value === "string" || typeof value === "number",
      );
      if (!isGiven || Object.keys(args).length > key.length)
        throw new UnsupportedSelection(node.name.value);
      const wanted = (row: Row, bind: BindNth) =>
        sql.join(
          key.map(({ column, type }, n) => sql`${row.column(column)} = ${bind(n)}::${type}`),
          " and ",
        );
      return { shape: "", values, isCacheable: true, kind: { kind: "one", rows, wanted } };
    }
    case "rootOwn": {
      assertOnly(args);
      const { rows, id } = sqlJson;
      return {
        shape: "",
        values: [],
        isCacheable: true,
        kind: { kind: "one", rows, wanted: (row) => sql`${row.column("id")} = ${id}` },
      };
    }
    case "many":
    case "rootMany": {
      const { first, offset, orderBy, ...rest } = args;
      assertOnly(rest);
      return listPart(
        sqlJson.rows,
        orderColumns(field, orderBy, sqlJson.rows),
        checkSize("first", first as number | null, MAX_LIST_SIZE),
        checkOffset(offset as number | null),
      );
    }
    case "rootPage":
    case "manyPage": {
      const isAll = sqlJson.kind === "rootPage" && !sqlJson.within;
      const { page, ...shaped } = pagePart(sqlJson, field, args, isAll);
      const usesCustomPlan = page.isSearchLeftToPlanner && page.counts;
      return { ...shaped, usesCustomPlan, kind: { kind: "page", ...page } };
    }
    case "rootObject": {
      const selected = new Set(namesOf(fragments, node));
      return objectPart((bind) => sqlJson.members(args, selected, bind));
    }
    default:
      throw new UnsupportedSelection(node.name.value);
  }
}

/** The names of the fields selected of a field's object. */
function namesOf(fragments: Fragments, node: FieldNode): string[] {
  return fieldsOf(fragments, node.selectionSet).map(([, { name }]) => name.value);
}

function listPart(
  rows: Rows,
  order: readonly OrderColumn[],
  first: number | null,
  offset: number | null,
): FieldPart {
  const reach = readLimit(first, offset);
  const skip = (bind: BindNth) => (offset ? { skip: { by: bind(0), reach } } : {});
  return {
    shape: shapeOf(order, first, offset),
    values: [offset ?? 0],
    isCacheable: true,
    kind: { kind: "list", rows, part: (bind) => ({ order, first, ...skip(bind) }) },
  };
}

function objectPart(members: (bind: Bind) => Members): FieldPart {
  const values: Bindable[] = [];
  const found = members((value) => {
    values.push(value);
    return bindValue(value);
  });
  const texts = Object.entries(found).flatMap(([name, member]) =>
    member ? [sql`${sql.identifier(name)} ${"text" in member ? member.text : member.from}`] : [],
  );
  return {
    shape: sql.compile(sql.join(texts, " ")).text,
    values,
    isCacheable: true,
    kind: {
      kind: "object",
      members: (bind) => {
        let n = 0;
        return members(() => bind(n++));
      },
    },
  };
}

/** The input of a compilation. */
export interface Compilation extends Fragments {
  /**
   * The resolved arguments of fields and their parameters: root fields by response key, others by {@link nestedKey}.
   */
  parts: ReadonlyMap<string, { kind: FieldPart["kind"]; bind: BindNth }>;
}

/** Identifies a field with its arguments, which resolve to the same values wherever they occur in a document. */
export function nestedKey(type: GraphQLObjectType, node: FieldNode): string {
  const { name, arguments: args } = node;
  return `${type.name}.${print({ kind: Kind.FIELD, name, ...(args ? { arguments: args } : {}) })}`;
}

/**
 * The fields below a selection that are pages or lists of related rows, by {@link nestedKey}. @throws
 * UnsupportedSelection
 */
export function nestedFields(
  fragments: Fragments,
  type: GraphQLObjectType,
  selectionSet: SelectionSetNode | undefined,
  found = new Map<string, [GraphQLField<unknown, unknown>, FieldNode]>(),
): typeof found {
  for (const [, node] of fieldsOf(fragments, selectionSet)) {
    if (!node.selectionSet) continue;
    const field = fieldOf(type, node);
    const kind = sqlJsonFieldOf(field.extensions)?.kind;
    const isPart = kind === "many" && node.arguments?.length;
    if (kind === "manyPage" || isPart) found.set(nestedKey(type, node), [field, node]);
    const inner = getNamedType(field.type);
    if (isObjectType(inner)) nestedFields(fragments, inner, node.selectionSet, found);
  }
  return found;
}
