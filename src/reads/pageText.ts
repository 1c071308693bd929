import type { FieldNode, GraphQLObjectType } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Part, listText } from "./listText.ts";
import type { BindNth, PageRoot } from "./rootPart.ts";
import { type Row, tableRow } from "./row.ts";
import { objectText, rowText } from "./rowText.ts";
import { type Compilation, IndirectError, fieldOf, fieldsOf, typeOf } from "./selection.ts";
import type { Text } from "./text.ts";

/** The text of a page that is read forwards: its rows, how many match in all, whether more follow. @throws IndirectError for cursors */
export function pageText(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  { rows, part, counts }: PageRoot,
  bind: BindNth,
): Text {
  const { name } = node;
  const memberText = (child: FieldNode): Text => {
    switch (child.name.value) {
      case "__typename":
        return [`"${type.name}"`];
      case "nodes": {
        const of = typeOf(fieldOf(type, child));
        const object = (row: Row) => rowText(compilation, of, child, row);
        return listText(rows.from, name.value, object, part(bind), true);
      }
      case "totalCount":
        return counts ? [countSql(rows.from, name.value, part(bind))] : ["null"];
      case "pageInfo": {
        const info = typeOf(fieldOf(type, child));
        return objectText(
          fieldsOf(compilation, info, child.selectionSet).map(([key, { name: asked }]) => {
            if (asked.value === "__typename") return [key, [`"${info.name}"`]];
            return [key, [boundarySql(asked.value, rows.from, name.value, part(bind))]];
          }),
        );
      }
      default:
        throw new IndirectError(child.name.value);
    }
  };
  return objectText(
    fieldsOf(compilation, type, node.selectionSet).map(([key, child]) => [key, memberText(child)]),
  );
}

/** How many rows match, as text. */
function countSql(from: SQL, name: string, { condition }: Part): SQL {
  const row = tableRow(name);
  return sql`(select count(*)::text from ${from} as ${row.alias}${where(row, condition)})`;
}

/**
 * Whether there are rows on one side of a part, as text: after it, those there are; before it, those that were passed over, as the library
 * has it, whether they are there or not. A part without rows has no sides.
 */
function boundarySql(
  field: string,
  from: SQL,
  name: string,
  { condition, first = null, skip }: Part,
): SQL {
  switch (field) {
    case "hasNextPage": {
      if (first === 0) return no;
      const row = tableRow(name);
      const before = skip ? sql`${skip.by}::integer + ${sql.literal(first)}` : sql.literal(first);
      return sql`(exists (select from ${from} as ${row.alias}${where(row, condition)} offset ${before}))::text`;
    }
    case "hasPreviousPage":
      return skip && first !== 0 ? yes : no;
    default:
      throw new IndirectError(field);
  }
}

const yes = sql`'true'`;
const no = sql`'false'`;

function where(row: Row, condition: Part["condition"]): SQL {
  return condition ? sql` where ${condition(row)}` : sql.blank;
}
