import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type DocumentNode,
  type SelectionSetNode,
  Kind,
  getArgumentValues,
  getNamedType,
  getOperationAST,
  getVariableValues,
  isObjectType,
} from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { OrderColumn } from "../plugins/defaultOrder.ts";
import { LARGEST_LIST_PART, checkOffset, checkSize, readPage } from "../plugins/pageArguments.ts";
import { compileQuery } from "../query/compile.ts";
import { parseQuery } from "../query/parse.ts";
import { type DirectField, directFieldOf, type Rows } from "./directField.ts";
import { orderColumns } from "./orderColumns.ts";

/** A read that is one SQL statement. */
export interface Read {
  text: string;
  values: readonly unknown[];
  /** The operation's root fields, for their guards and their audit. */
  fields: readonly GraphQLField<unknown, unknown>[];
  /** Whether the same request means the same statement at another time. */
  isLasting: boolean;
}

/** The operation holds something that SQL alone does not read. */
class IndirectError extends Error {
  override name = "IndirectError";
}

interface Compilation {
  schema: GraphQLSchema;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  variables: Record<string, unknown>;
  usesClock: boolean;
}

/**
 * Compiles a query operation to one statement whose only value is the text of the whole answer's `data`, written by PostgreSQL. Null
 * where something of it has to be left to Grafast: arguments that are refused, computed fields, cursors, directives, fields of
 * plugins. What it means is what Grafast makes of it; the tests hold the two against each other.
 */
export function compileRead(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  given: Record<string, unknown>,
): Read | null {
  const operation = getOperationAST(document, operationName);
  const root = schema.getQueryType();
  if (operation?.operation !== "query" || !root || operation.directives?.length) return null;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], given);
  if (!coerced) return null;
  const fragments = new Map(
    document.definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node] as const] : [],
    ),
  );
  const compilation = { schema, fragments, variables: coerced, usesClock: false };
  try {
    const nodes = fieldsOf(compilation, root, operation.selectionSet);
    const fields = nodes.map(([, node]) => fieldOf(root, node));
    const parts = nodes.map(([key, node]) => [key, rootText(compilation, root, node)] as const);
    const { text, values } = sql.compile(sql`select ${objectText(parts)} as data`);
    return { text, values, fields, isLasting: !compilation.usesClock };
  } catch (error) {
    // Whatever is wrong with a request, Grafast says it.
    if (error instanceof Error) return null;
    throw error;
  }
}

/** The fields of a selection by the key of their answer, fragments expanded. @throws IndirectError */
function fieldsOf(
  compilation: Compilation,
  type: GraphQLObjectType,
  selectionSet: SelectionSetNode | undefined,
  found = new Map<string, FieldNode>(),
): [string, FieldNode][] {
  for (const node of selectionSet?.selections ?? []) {
    if (node.directives?.length) throw new IndirectError("directive");
    if (node.kind === Kind.FIELD) {
      const key = node.alias?.value ?? node.name.value;
      // One that is selected twice would have to be merged.
      if (found.has(key)) throw new IndirectError(`${key} twice`);
      found.set(key, node);
      continue;
    }
    const fragment =
      node.kind === Kind.FRAGMENT_SPREAD ? compilation.fragments.get(node.name.value) : node;
    const condition = fragment?.typeCondition?.name.value;
    if (!fragment || (condition !== undefined && condition !== type.name))
      throw new IndirectError("fragment");
    fieldsOf(compilation, type, fragment.selectionSet, found);
  }
  return [...found];
}

function fieldOf(type: GraphQLObjectType, node: FieldNode): GraphQLField<unknown, unknown> {
  const field = type.getFields()[node.name.value];
  if (!field) throw new IndirectError(node.name.value);
  return field;
}

function rootText(compilation: Compilation, root: GraphQLObjectType, node: FieldNode): SQL {
  const field = fieldOf(root, node);
  const direct = directFieldOf(field.extensions);
  const args = getArgumentValues(field, node, compilation.variables);
  const row = sql.identifier(Symbol(node.name.value));
  switch (direct?.kind) {
    case "rootOne": {
      const { id, ...rest } = args;
      if (typeof id !== "string" || Object.keys(rest).length > 0) throw new IndirectError("id");
      const object = rowText(compilation, typeOf(field), node, row);
      return sql`coalesce((select ${object} from ${direct.rows.from} as ${row} where ${row}.id = ${sql.value(id)}::uuid), 'null')`;
    }
    case "rootMany":
      return listText(
        rowText(compilation, typeOf(field), node, row),
        direct.rows,
        row,
        sql.true,
        listPart(field, args, direct.rows),
      );
    case "rootPage":
      return pageText(compilation, direct, field, node, args);
    default:
      throw new IndirectError(node.name.value);
  }
}

interface Part {
  order: readonly OrderColumn[];
  first: number | null;
  offset: number | null;
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
  const row = sql.identifier(Symbol(node.name.value));
  const now = () => {
    compilation.usesClock = true;
    return new Date();
  };
  const condition =
    query == null || !direct.table
      ? sql.true
      : compileQuery(parseQuery(query as string), direct.table, now)(row);
  const { rows } = direct;
  const part = {
    first: page.first,
    offset: page.offset,
    order: orderColumns(field, orderBy, rows),
  };
  const parts = fieldsOf(compilation, type, node.selectionSet).map(([key, child]) => {
    if (child.name.value !== "nodes") throw new IndirectError(child.name.value);
    const nodes = fieldOf(type, child);
    const object = rowText(compilation, typeOf(nodes), child, row);
    return [key, listText(object, rows, row, condition, part)] as const;
  });
  return objectText(parts);
}

/** The text of one row's object. */
function rowText(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  row: SQL,
): SQL {
  return objectText(
    fieldsOf(compilation, type, node.selectionSet).map(([key, child]) => [
      key,
      child.name.value === "__typename"
        ? sql.literal(`"${type.name}"`)
        : fieldText(compilation, type, child, row),
    ]),
  );
}

function fieldText(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  row: SQL,
): SQL {
  const field = fieldOf(type, node);
  const direct = directFieldOf(field.extensions);
  if (direct?.kind === "column") {
    if (node.arguments?.length) throw new IndirectError("argument");
    const text = direct.write(sql`${row}.${sql.identifier(direct.column)}`);
    return direct.required ? text : sql`coalesce(${text}, 'null')`;
  }
  if (node.arguments?.length) throw new IndirectError("argument");
  const related = sql.identifier(Symbol(node.name.value));
  const object = () => rowText(compilation, typeOf(field), node, related);
  switch (direct?.kind) {
    case "one": {
      const found = sql`(select ${object()} from ${direct.rows.from} as ${related} where ${direct.join(row, related)})`;
      // One that must be there and is not seen is an error, which Grafast tells.
      return direct.required
        ? sql`coalesce(${found}, missing_row())`
        : sql`coalesce(${found}, 'null')`;
    }
    case "many":
      return listText(object(), direct.rows, related, direct.join(row, related), {
        order: direct.rows.order,
        first: null,
        offset: null,
      });
    case "computed":
      return sql`'[' || array_to_string(array(select ${object()} from ${direct.call(row)} as ${related}), ',') || ']'`;
    default:
      throw new IndirectError(node.name.value);
  }
}

function listText(object: SQL, rows: Rows, row: SQL, condition: SQL, part: Part): SQL {
  const order = sql.join(
    part.order.map(
      ({ attribute, direction }) =>
        sql`${row}.${sql.identifier(attribute)} ${direction === "ASC" ? sql`asc` : sql`desc`}`,
    ),
    ", ",
  );
  const ordered = part.order.length > 0 ? sql` order by ${order}` : sql.blank;
  const limit = part.first === null ? sql.blank : sql` limit ${sql.value(part.first)}::integer`;
  const offset = part.offset === null ? sql.blank : sql` offset ${sql.value(part.offset)}::integer`;
  return sql`'[' || array_to_string(array(select ${object} from ${rows.from} as ${row} where ${condition}${ordered}${limit}${offset}), ',') || ']'`;
}

function objectText(parts: readonly (readonly [string, SQL])[]): SQL {
  if (parts.length === 0) throw new IndirectError("nothing selected");
  const members = parts.map(([key, text], index) => {
    // Constants in parentheses of their own are put together once, when the statement is planned.
    const name = sql`(${index === 0 ? sql`'{'` : sql`','`} || ${sql.literal(`"${key}":`)})`;
    return sql`${name} || ${text}`;
  });
  return sql`(${sql.join(members, " || ")} || '}')`;
}

function typeOf(field: GraphQLField<unknown, unknown>): GraphQLObjectType {
  const type = getNamedType(field.type);
  if (!isObjectType(type)) throw new IndirectError("type");
  return type;
}
