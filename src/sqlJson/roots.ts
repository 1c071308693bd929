import {
  type DocumentNode,
  type FieldNode,
  type GraphQLFieldMap,
  type GraphQLSchema,
  Kind,
  type SelectionSetNode,
  getOperationAST,
  isNonNullType,
} from "graphql";
import { sql } from "postgraphile/pg-sql2";
import { type Guard, guardOf } from "../auth/guards.ts";
import { guardSql } from "./guardSql.ts";
import type { TextStatement } from "../postgres/textAnswer.ts";
import { compiled } from "./compiledStatement.ts";
import { fieldsOf, fragmentsOf, unlessUnsupported } from "./selection.ts";

/** The root fields of a query by response key, and queries with some of them. */
export interface Roots {
  keys: readonly string[];
  /** The query with these root fields only. */
  only: (keys: ReadonlySet<string>) => DocumentNode;
  /** The query with a placeholder for each of these root fields. */
  without: (keys: ReadonlySet<string>) => DocumentNode;
  /** Returns the keys of the root fields whose guards refuse the caller, as a JSON array. */
  refused: TextStatement;
  /** The root fields of non-null type. */
  required: ReadonlySet<string>;
  /** The guards of required root fields other than these. */
  requiredBeside: (keys: ReadonlySet<string>) => Guard[];
}

/** The root fields of a query; null for other operations and unsupported selections. */
export function rootsOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): Roots | null {
  const operation = getOperationAST(document, operationName);
  const root = schema.getQueryType();
  if (operation?.operation !== "query" || !root || operation.directives?.length) return null;
  const nodes = unlessUnsupported(() =>
    fieldsOf({ fragments: fragmentsOf(document) }, root, operation.selectionSet),
  );
  if (!nodes) return null;
  const asking = (selections: readonly FieldNode[]): DocumentNode => {
    const selectionSet: SelectionSetNode = { kind: Kind.SELECTION_SET, selections };
    const changed = { ...operation, selectionSet };
    const definitions = document.definitions.map((node) => (node === operation ? changed : node));
    return { ...document, definitions };
  };
  const declared = root.getFields();
  const required = nodes.flatMap(([key, { name }]): [string, Guard][] => {
    const field = declared[name.value];
    return field && isNonNullType(field.type) ? [[key, guardOf(field)]] : [];
  });
  return {
    keys: nodes.map(([key]) => key),
    only: (keys) => asking(nodes.filter(([key]) => keys.has(key)).map(([, node]) => node)),
    without: (keys) => asking(nodes.map(([key, node]) => (keys.has(key) ? placeOf(key) : node))),
    refused: refusedOf(declared, nodes),
    required: new Set(required.map(([key]) => key)),
    requiredBeside: (keys) => required.flatMap(([key, guard]) => (keys.has(key) ? [] : [guard])),
  };
}

function refusedOf(
  declared: GraphQLFieldMap<unknown, unknown>,
  nodes: readonly (readonly [string, FieldNode])[],
): TextStatement {
  const each = nodes.flatMap(([key, { name }]) => {
    const field = declared[name.value];
    if (!field) return [];
    return [sql`case when not (${guardSql(guardOf(field))}) then ${sql.value(key)}::text end`];
  });
  const keys = sql`array_remove(array[${sql.join(each, ", ")}]::text[], null)`;
  const given = { variables: {}, nodes: new Map(), values: new Map() };
  return compiled(sql`select array_to_json(${keys})::text as data`).statementFor(given);
}

function placeOf(key: string): FieldNode {
  const name = (value: string) => ({ kind: Kind.NAME, value }) as const;
  return { kind: Kind.FIELD, alias: name(key), name: name("__typename") };
}
