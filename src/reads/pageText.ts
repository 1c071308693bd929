import type { FieldNode, GraphQLObjectType } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { BindNth } from "../query/bind.ts";
import { cursorText } from "./cursorText.ts";
import { type Part, arrayText, listText, selectSql } from "./listText.ts";
import type { AskedPage } from "./pagePart.ts";
import { type Row, tableRow } from "./row.ts";
import { type Fragments, IndirectError, fieldOf, fieldsOf, typeOf } from "./selection.ts";
import { type Text, objectText, textSql } from "./text.ts";

/** Writes the object of a row: its type, what asks for it, and the row. */
export type ObjectOf = (type: GraphQLObjectType, node: FieldNode, row: Row) => Text;

/**
 * The text of a page: its rows, their cursors, how many match in all, whether there are more. `within` says which rows are those of
 * another that it hangs on. @throws IndirectError
 */
export function pageText(
  document: Fragments,
  type: GraphQLObjectType,
  node: FieldNode,
  { rows: { from, resource }, order, backwards, part, matching, counts }: AskedPage,
  bind: BindNth,
  objectOf: ObjectOf,
  within?: (row: Row) => SQL,
): Text {
  const name = node.name.value;
  const asked = part(bind);
  const own = { ...asked, ...bothOf(within, asked.condition) };
  const { first, skip } = own;
  const mayBeCut = within === undefined;
  const members = fieldsOf(document, type, node.selectionSet);
  const membersOf = (of: GraphQLObjectType, child: FieldNode) => {
    const inner = typeOf(fieldOf(of, child));
    return { inner, fields: fieldsOf(document, inner, child.selectionSet) };
  };
  const infos = new Set(
    members
      .filter(([, child]) => child.name.value === "pageInfo")
      .flatMap(([, child]) => membersOf(type, child).fields.map(([, field]) => field.name.value)),
  );
  const lists = members.filter(([, child]) => ["nodes", "edges"].includes(child.name.value));
  const asksForMore = infos.has(backwards ? "hasPreviousPage" : "hasNextPage");
  const asksForEnds = infos.has("startCursor") || infos.has("endCursor");
  // Rows that serve several of these are read once, with one more where it is asked whether there is one.
  const isShared =
    asksForEnds || lists.length > 1 || (lists.length === 1 && (asksForMore || backwards));

  // What is asked for under several names, or used for several things, is found first.
  const found = sql.identifier(Symbol("found"));
  const columns = new Map<string, { select: (row: Row) => SQL; column: SQL }>();
  const once = (what: string, select: (row: Row) => SQL): SQL => {
    const known = columns.get(what) ?? { select, column: sql.identifier(Symbol(what)) };
    columns.set(what, known);
    return sql`${found}.${known.column}`;
  };
  const ofRows = (what: string, text: (row: Row) => Text): SQL =>
    once(what, (row) => sql`coalesce(array_agg(${textSql(text(row))}), '{}')`);

  const cursorOf = (row: Row) => cursorText(resource, order, row);
  const cursors = () => ofRows("cursors", cursorOf);
  const edgeText = (child: FieldNode, row: Row): Text => {
    const { inner, fields } = membersOf(type, child);
    return objectText(
      fields.map(([key, field]) => {
        if (field.name.value === "__typename") return [key, [`"${inner.name}"`]];
        if (field.name.value === "cursor") return [key, cursorOf(row)];
        if (field.name.value !== "node") throw new IndirectError(field.name.value);
        return [key, objectOf(typeOf(fieldOf(inner, field)), field, row)];
      }),
    );
  };
  const shownBy = (child: FieldNode) => (row: Row) =>
    child.name.value === "edges"
      ? edgeText(child, row)
      : objectOf(typeOf(fieldOf(type, child)), child, row);
  const objects = ([key, child]: readonly [string, FieldNode]) =>
    ofRows(`list ${key}`, shownBy(child));
  const rowsText = (member: [string, FieldNode]): Text => {
    if (!isShared || first === 0) return listText(from, name, shownBy(member[1]), own, mayBeCut);
    const read = objects(member);
    const shown = asksForMore ? sql`${read}[:${sql.literal(first)}]` : read;
    return arrayText(backwards ? sql`array_reverse(${shown})` : shown, mayBeCut);
  };

  const moreSql = (): SQL => {
    if (first === 0) return no;
    if (!isShared) return once("more", () => isThereSql(from, name, own));
    const [list] = lists;
    const read = asksForEnds || !list ? cursors() : objects(list);
    return sql`(cardinality(${read}) > ${sql.literal(first)})::text`;
  };
  const endSql = (isFirstRead: boolean): SQL => {
    if (first === 0) return sql`'null'`;
    const read = cursors();
    const last = sql`least(cardinality(${read}), ${sql.literal(first)})`;
    return sql`coalesce(${read}[${isFirstRead ? sql`1` : last}], 'null')`;
  };
  const infoText = (info: GraphQLObjectType, field: string): Text => {
    switch (field) {
      case "__typename":
        return [`"${info.name}"`];
      case "hasNextPage":
        return [backwards ? no : moreSql()];
      case "hasPreviousPage":
        // As the library has it: what was passed over counts, whether it is there or not, and what a cursor leaves out does not.
        return [backwards ? moreSql() : skip && first > 0 ? yes : no];
      case "startCursor":
        return [endSql(!backwards)];
      case "endCursor":
        return [endSql(backwards)];
      default:
        throw new IndirectError(field);
    }
  };
  const memberText = (member: [string, FieldNode]): Text => {
    const [, child] = member;
    switch (child.name.value) {
      case "__typename":
        return [`"${type.name}"`];
      case "nodes":
      case "edges":
        return rowsText(member);
      case "totalCount":
        return counts
          ? [once("total", () => countSql(from, name, bothOf(within, matching(bind))))]
          : ["null"];
      case "pageInfo": {
        const { inner, fields } = membersOf(type, child);
        return objectText(fields.map(([key, field]) => [key, infoText(inner, field.name.value)]));
      }
      default:
        throw new IndirectError(child.name.value);
    }
  };

  const text = objectText(members.map((member) => [member[0], memberText(member)]));
  if (columns.size === 0) return text;
  const selects = (row: Row) =>
    sql.join(
      [...columns.values()].map(({ select, column }) => sql`${select(row)} as ${column}`),
      ", ",
    );
  const read = { ...own, first: asksForMore ? first + 1 : first };
  const source =
    isShared && first > 0
      ? selectSql(from, name, selects, read)
      : sql`select ${selects(tableRow(name))}`;
  // The offset keeps the planner from putting each in the place of its uses.
  return [sql`(select ${textSql(text)} from (${source} offset 0) as ${found})`];
}

const yes = sql`'true'`;
const no = sql`'false'`;

type Condition = Part["condition"] | null;

/** Both of two conditions, either of which may not be there. */
function bothOf(one: Condition, other: Condition): Pick<Part, "condition"> {
  if (!one || !other) {
    const condition = one ?? other;
    return condition ? { condition } : {};
  }
  return {
    condition: (row) => sql`${sql.parens(one(row), true)} and ${sql.parens(other(row), true)}`,
  };
}

function whereSql(row: Row, { condition }: Pick<Part, "condition">): SQL {
  return condition ? sql` where ${condition(row)}` : sql.blank;
}

/** How many rows match, as text. */
function countSql(from: SQL, name: string, matching: Pick<Part, "condition">): SQL {
  const row = tableRow(name);
  return sql`(select count(*)::text from ${from} as ${row.alias}${whereSql(row, matching)})`;
}

/** Whether there are rows beyond those of a part, as text. */
function isThereSql(from: SQL, name: string, part: Part & { first: number }): SQL {
  const row = tableRow(name);
  const first = sql.literal(part.first);
  const before = part.skip ? sql`${part.skip.by}::integer + ${first}` : first;
  return sql`(exists (select from ${from} as ${row.alias}${whereSql(row, part)} offset ${before}))::text`;
}
