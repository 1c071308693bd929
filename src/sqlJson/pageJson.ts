import type { FieldNode, GraphQLObjectType } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Text, objectJson, textSql } from "./jsonText.ts";
import { type Compilation, rowJson } from "./rowJson.ts";
import { type Part, type Row, arrayJson, listJson, selectSql } from "./rows.ts";
import { UnsupportedSelection, fieldsOf, typeOf } from "./selection.ts";

/** A page of rows. */
interface Page {
  /** The JSON of a row's cursor. */
  cursor: (row: Row) => Text;
  part: Part & { first: number };
  /** The number of all matching rows as text. */
  total: SQL;
  isSplittable: boolean;
}

/** The JSON of a connection: nodes, edges, cursors, total, page info. @throws UnsupportedSelection */
export function pageJson(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  { cursor, part, total, isSplittable }: Page,
): Text {
  const { fragments } = compilation;
  const { first, skip } = part;
  const found = sql.identifier(Symbol("found"));
  /** What is selected of the rows of the page, by name: they are read once. */
  const columns = new Map<string, (row: Row) => SQL>();
  const column = (name: string, select: (row: Row) => SQL) => {
    columns.set(name, select);
    return sql`${found}.${sql.identifier(name)}`;
  };
  /** The array with a text for each row. */
  const texts = (name: string, text: (row: Row) => Text) =>
    column(name, (row) => sql`coalesce(array_agg(${textSql(text(row))}), '{}')`);
  const count = () => column("count", () => sql`count(*)`);
  /** Whether one row more is read, which shows that more follow. */
  let readsOneMore = false;
  let isCounted = false;

  const readers = Array.from(fieldsOf(fragments, node).values()).filter(({ name }) =>
    ["nodes", "edges", "pageInfo"].includes(name.value),
  );
  const list = (text: (row: Row) => Text) => {
    // A subquery for one list would cost PostgreSQL about 5 %.
    if (readers.length === 1) return listJson(node.name.value, text, part, isSplittable);
    const items = sql`(${texts(`list ${columns.size}`, text)})[:${sql.literal(first)}]`;
    return arrayJson(items, isSplittable);
  };
  const end = (index: SQL) => sql`coalesce((${texts("cursors", cursor)})[${index}], 'null')`;
  const info = (name: string): SQL => {
    switch (name) {
      case "hasNextPage":
        readsOneMore = first > 0;
        return sql`(${count()} > ${sql.literal(first)})::text`;
      case "hasPreviousPage":
        // As Grafast does: skipped rows count whether they exist or not, rows before a cursor do not.
        return skip && first > 0 ? sql`'true'` : sql`'false'`;
      case "startCursor":
        return end(sql`1`);
      case "endCursor":
        return end(sql`least(${count()}, ${sql.literal(first)})`);
      default:
        throw new UnsupportedSelection(name);
    }
  };

  const text = objectJson(fragments, type, node, (field, child) => {
    switch (child.name.value) {
      case "nodes":
        return list((row) => rowJson(compilation, typeOf(field), child, row));
      case "edges":
        return list((row) =>
          objectJson(fragments, typeOf(field), child, (ofEdge, selected) => {
            const name = selected.name.value;
            if (name === "cursor") return cursor(row);
            if (name !== "node") throw new UnsupportedSelection(name);
            return rowJson(compilation, typeOf(ofEdge), selected, row);
          }),
        );
      case "totalCount":
        // Grafast counts once for both.
        if (isCounted) throw new UnsupportedSelection("second total");
        isCounted = true;
        return [total];
      case "pageInfo":
        return objectJson(fragments, typeOf(field), child, (_field, { name }) => [
          info(name.value),
        ]);
      default:
        throw new UnsupportedSelection(child.name.value);
    }
  });
  if (columns.size === 0) return text;
  const selects = (row: Row) =>
    sql.join(
      Array.from(columns, ([name, select]) => sql`${select(row)} as ${sql.identifier(name)}`),
      ", ",
    );
  const read = { ...part, first: readsOneMore ? first + 1 : first };
  // Without the offset the planner would inline each column at each of its uses.
  return [
    sql`(select ${textSql(text)} from (${selectSql(node.name.value, selects, read)} offset 0) as ${found})`,
  ];
}
