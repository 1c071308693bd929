import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type DocumentNode,
  Kind,
  visit,
  getArgumentValues,
  getOperationAST,
  getVariableValues,
} from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { withAuditIds } from "../plugins/auditIds.ts";
import { guardOf } from "../plugins/GuardsPlugin.ts";
import { LARGEST_LIST_PART, checkOffset, checkSize, readPage } from "../plugins/pageArguments.ts";
import type { Statement } from "../postgres/SettledQuery.ts";
import { compileQuery } from "../query/compile.ts";
import { parseQuery } from "../query/parse.ts";
import { type DirectField, directFieldOf, type Members, type Rows } from "./directField.ts";
import { guardSql } from "./guardSql.ts";
import { listText, type Part } from "./listText.ts";
import { lateValue, namedStatement } from "./namedStatement.ts";
import { orderColumns } from "./orderColumns.ts";
import { recordedAnswer } from "./recordedAnswer.ts";
import { type Row, tableRow } from "./row.ts";
import { objectText, rowText } from "./rowText.ts";
import {
  type Compilation,
  IndirectError,
  fieldOf,
  fieldsOf,
  fragmentsOf,
  typeOf,
} from "./selection.ts";

/** A read that is one SQL statement. */
export interface Read {
  /**
   * The statement for variables of which all but `free` are those that it was compiled for; null where they are refused. It gives
   * one row with the text of the answer's `data`; none to callers whom the guards do not let pass.
   */
  statement: (sent: Record<string, unknown>) => Statement | null;
  /** The variables that can have any value: they are nothing but ids of rows at the root. */
  free: readonly string[];
  /** Whether the same request means the same statement at another time. */
  isLasting: boolean;
}

/**
 * Compiles a query operation to one statement that checks the guards, records what is read of audited types, and gives the text
 * of the whole answer's `data`, written by PostgreSQL. Null where something of it has to be left to Grafast: arguments that are
 * refused, computed fields, cursors, directives, fields of plugins. What it means is what Grafast makes of it; the tests hold
 * the two against each other.
 */
export function compileRead(
  schema: GraphQLSchema,
  asked: DocumentNode,
  operationName: string | null | undefined,
  given: Record<string, unknown>,
): Read | null {
  const document = withAuditIds(schema, asked, operationName);
  const operation = getOperationAST(document, operationName);
  const root = schema.getQueryType();
  if (operation?.operation !== "query" || !root || operation.directives?.length) return null;
  const coercedOf = (sent: Record<string, unknown>) =>
    getVariableValues(schema, operation.variableDefinitions ?? [], sent).coerced;
  const coerced = coercedOf(given);
  if (!coerced) return null;
  const compilation: Compilation & { free: ReadonlySet<string> } = {
    free: new Set(),
    fragments: fragmentsOf(document),
    variables: coerced,
    usesClock: false,
  };
  try {
    const nodes = fieldsOf(compilation, root, operation.selectionSet);
    const guard = sql.join(
      nodes.map(([, node]) => guardSql(guardOf(fieldOf(root, node)))),
      " and ",
    );
    compilation.free = rowIdVariables(root, nodes, asked);
    const parts = nodes.map(([key, node]) => [key, rootText(compilation, root, node)] as const);
    const answer = sql`select ${objectText(parts)} as data where ${guard}`;
    const named = namedStatement(recordedAnswer(answer, schema, document, operation));
    const { free } = compilation;
    const statement = (sent: Record<string, unknown>) => {
      const now = free.size === 0 ? coerced : coercedOf(sent);
      if (!now || [...free].some((name) => typeof now[name] !== "string")) return null;
      return named({ sent, coerced: now });
    };
    return { statement, free: [...free], isLasting: !compilation.usesClock };
  } catch (error) {
    // Whatever is wrong with a request, Grafast says it.
    if (error instanceof Error) return null;
    throw error;
  }
}

/** The variables of a document that stand nowhere but as ids of rows at the root of the operation. */
function rowIdVariables(
  root: GraphQLObjectType,
  nodes: readonly (readonly [string, FieldNode])[],
  document: DocumentNode,
): Set<string> {
  const uses = new Map<string, number>();
  const count = (name: string, by: number) => uses.set(name, (uses.get(name) ?? 0) + by);
  for (const [, node] of nodes) {
    if (directFieldOf(fieldOf(root, node).extensions)?.kind !== "rootOne") continue;
    const name = idVariable(node);
    if (name !== undefined) count(name, 1);
  }
  const free = new Set(uses.keys());
  visit(document, {
    VariableDefinition: () => false,
    Variable: ({ name }) => {
      count(name.value, -1);
    },
  });
  for (const [name, left] of uses) if (left !== 0) free.delete(name);
  return free;
}

function idVariable(node: FieldNode): string | undefined {
  const value = node.arguments?.find(({ name }) => name.value === "id")?.value;
  return value?.kind === Kind.VARIABLE ? value.name.value : undefined;
}

function rootText(
  compilation: Compilation & { free: ReadonlySet<string> },
  root: GraphQLObjectType,
  node: FieldNode,
): SQL {
  const field = fieldOf(root, node);
  const direct = directFieldOf(field.extensions);
  const args = getArgumentValues(field, node, compilation.variables);
  const name = node.name.value;
  switch (direct?.kind) {
    case "rootOne": {
      const { id, ...rest } = args;
      if (typeof id !== "string" || Object.keys(rest).length > 0) throw new IndirectError("id");
      const row = tableRow(name);
      const object = rowText(compilation, typeOf(field), node, row);
      const variable = idVariable(node) ?? "";
      const wanted = compilation.free.has(variable)
        ? lateValue(({ coerced }) => coerced[variable] as string)
        : sql.value(id);
      return sql`coalesce((select ${object} from ${direct.rows.from} as ${row.alias} where ${row.column("id")} = ${wanted}::uuid), 'null')`;
    }
    case "rootMany":
      return listText(
        direct.rows.from,
        name,
        (row) => rowText(compilation, typeOf(field), node, row),
        listPart(field, args, direct.rows),
      );
    case "rootPage":
      return pageText(compilation, direct, field, node, args);
    case "rootObject":
      return membersText(compilation, typeOf(field), node, (asked) => direct.members(args, asked));
    default:
      throw new IndirectError(name);
  }
}

function listPart(
  field: GraphQLField<unknown, unknown>,
  args: Record<string, unknown>,
  rows: Rows,
): Part {
  const { first, offset, orderBy, ...rest } = args;
  if (Object.values(rest).some((value) => value != null)) throw new IndirectError("argument");
  return {
    order: orderColumns(field, orderBy, rows),
    first: checkSize("first", first as number | null, LARGEST_LIST_PART),
    offset: checkOffset(offset as number | null),
  };
}

function pageText(
  compilation: Compilation,
  direct: DirectField & { kind: "rootPage" },
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  args: Record<string, unknown>,
): SQL {
  const { query, orderBy, first, last, offset, before, after, includeTotalCount, ...rest } = args;
  const known = { first, last, offset, before, after };
  const page = readPage(known as Parameters<typeof readPage>[0]);
  if (page.first === null || page.before || page.after || includeTotalCount === true)
    throw new IndirectError("page");
  if (Object.values(rest).some((value) => value != null)) throw new IndirectError("argument");
  const type = typeOf(field);
  const now = () => {
    compilation.usesClock = true;
    return new Date();
  };
  const condition =
    query == null || !direct.table
      ? undefined
      : compileQuery(parseQuery(query as string), direct.table, now);
  const { rows } = direct;
  const part = {
    ...(condition ? { condition: (row: Row) => condition(row.alias) } : {}),
    first: page.first,
    offset: page.offset,
    order: orderColumns(field, orderBy, rows),
  };
  const parts = fieldsOf(compilation, type, node.selectionSet).map(([key, child]) => {
    if (child.name.value !== "nodes") throw new IndirectError(child.name.value);
    const nodes = fieldOf(type, child);
    const text = listText(
      rows.from,
      node.name.value,
      (row) => rowText(compilation, typeOf(nodes), child, row),
      part,
    );
    return [key, text] as const;
  });
  return objectText(parts);
}

function membersText(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  membersOf: (asked: ReadonlySet<string>) => Members,
): SQL {
  const fields = fieldsOf(compilation, type, node.selectionSet);
  const members = membersOf(new Set(fields.map(([, child]) => child.name.value)));
  const parts = fields.map(([key, child]) => {
    const name = child.name.value;
    const member = members[name];
    if (!member || child.arguments?.length) throw new IndirectError(name);
    if ("text" in member) return [key, member.text] as const;
    const of = typeOf(fieldOf(type, child));
    const text = listText(member.from, name, (row) => rowText(compilation, of, child, row), {
      order: [],
    });
    return [key, text] as const;
  });
  return objectText(parts);
}
