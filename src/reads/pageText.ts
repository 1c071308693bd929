import type { FieldNode, GraphQLObjectType } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Part, arrayText, listText, objectsSql } from "./listText.ts";
import type { BindNth, PageRoot } from "./rootPart.ts";
import { type Row, tableRow } from "./row.ts";
import { objectText, rowText } from "./rowText.ts";
import { type Compilation, IndirectError, fieldOf, fieldsOf, typeOf } from "./selection.ts";
import { type Text, textSql } from "./text.ts";

/** The text of a page that is read forwards: its rows, how many match in all, whether more follow. @throws IndirectError for cursors */
export function pageText(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  { rows: { from }, part, counts }: PageRoot,
  bind: BindNth,
): Text {
  const name = node.name.value;
  const members = fieldsOf(compilation, type, node.selectionSet);
  const membersOf = (child: FieldNode) => {
    const inner = typeOf(fieldOf(type, child));
    return { inner, fields: fieldsOf(compilation, inner, child.selectionSet) };
  };
  const objectOf = (child: FieldNode) => (row: Row) =>
    rowText(compilation, typeOf(fieldOf(type, child)), child, row);
  const asksForMore = members.some(
    ([, child]) =>
      child.name.value === "pageInfo" &&
      membersOf(child).fields.some(([, field]) => field.name.value === "hasNextPage"),
  );

  // What is asked for under several names, or used for several things, is read once and first.
  const found = sql.identifier(Symbol("found"));
  const columns = new Map<string, { select: SQL; column: SQL }>();
  const once = (what: string, select: () => SQL): SQL => {
    const known = columns.get(what) ?? { select: select(), column: sql.identifier(Symbol(what)) };
    columns.set(what, known);
    return sql`${found}.${known.column}`;
  };

  // Where it is asked whether more follow, lists are read with one row more than the page has.
  const longer = new Map<string, { list: SQL; first: number }>();
  for (const [key, child] of members) {
    const { first, ...rest } = part(bind);
    if (child.name.value !== "nodes" || !asksForMore || !first) continue;
    const more = { ...rest, first: first + 1 };
    const elements = () => sql`array(${objectsSql(from, name, objectOf(child), more)})`;
    longer.set(key, { list: once(`list ${key}`, elements), first });
  }

  const hasNextSql = (): SQL => {
    const own = part(bind);
    if (!own.first) return no;
    const [list] = longer.values();
    return list
      ? sql`(cardinality(${list.list}) > ${sql.literal(list.first)})::text`
      : once("next", () => isThereSql(from, name, own));
  };
  const infoText = (info: GraphQLObjectType, field: string): Text => {
    const { skip, first } = part(bind);
    switch (field) {
      case "__typename":
        return [`"${info.name}"`];
      case "hasNextPage":
        return [hasNextSql()];
      case "hasPreviousPage":
        // As the library has it: what was passed over counts, whether it is there or not.
        return [skip && first ? yes : no];
      default:
        throw new IndirectError(field);
    }
  };
  const memberText = (key: string, child: FieldNode): Text => {
    switch (child.name.value) {
      case "__typename":
        return [`"${type.name}"`];
      case "nodes": {
        const own = longer.get(key);
        return own
          ? arrayText(sql`${own.list}[:${sql.literal(own.first)}]`, true)
          : listText(from, name, objectOf(child), part(bind), true);
      }
      case "totalCount":
        return counts ? [once("total", () => countSql(from, name, part(bind)))] : ["null"];
      case "pageInfo": {
        const { inner, fields } = membersOf(child);
        return objectText(fields.map(([own, field]) => [own, infoText(inner, field.name.value)]));
      }
      default:
        throw new IndirectError(child.name.value);
    }
  };

  const text = objectText(members.map(([key, child]) => [key, memberText(key, child)]));
  if (columns.size === 0) return text;
  const selects = [...columns.values()].map(({ select, column }) => sql`${select} as ${column}`);
  // The offset keeps the planner from putting each in the place of its uses.
  return [
    sql`(select ${textSql(text)} from (select ${sql.join(selects, ", ")} offset 0) as ${found})`,
  ];
}

const yes = sql`'true'`;
const no = sql`'false'`;

/** How many rows match, as text. */
function countSql(from: SQL, name: string, { condition }: Part): SQL {
  const row = tableRow(name);
  return sql`(select count(*)::text from ${from} as ${row.alias}${where(row, condition)})`;
}

/** Whether rows come after a part, as text. */
function isThereSql(from: SQL, name: string, { condition, first = null, skip }: Part): SQL {
  const row = tableRow(name);
  const before = skip ? sql`${skip.by}::integer + ${sql.literal(first)}` : sql.literal(first);
  return sql`(exists (select from ${from} as ${row.alias}${where(row, condition)} offset ${before}))::text`;
}

function where(row: Row, condition: Part["condition"]): SQL {
  return condition ? sql` where ${condition(row)}` : sql.blank;
}
