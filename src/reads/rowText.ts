import type { FieldNode, GraphQLObjectType } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { directFieldOf } from "./directField.ts";
import { listText } from "./listText.ts";
import { type Row, tableRow } from "./row.ts";
import { type Text, orNull, textSql } from "./text.ts";
import { type Compilation, IndirectError, fieldOf, fieldsOf, typeOf } from "./selection.ts";

/** The text of one row's object. @throws IndirectError */
export function rowText(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  row: Row,
): Text {
  return objectText(
    fieldsOf(compilation, type, node.selectionSet).map(([key, child]) => [
      key,
      child.name.value === "__typename"
        ? [`"${type.name}"`]
        : fieldText(compilation, type, child, row),
    ]),
  );
}

function fieldText(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  row: Row,
): Text {
  const field = fieldOf(type, node);
  const direct = directFieldOf(field.extensions);
  if (node.arguments?.length) throw new IndirectError("argument");
  if (direct?.kind === "column") {
    const text = direct.write(row.column(direct.column));
    return direct.required ? text : orNull(text);
  }
  if (direct?.kind === "value") {
    const text = direct.write(direct.call(row.whole()));
    return direct.required ? orMissing(textSql(text)) : orNull(text);
  }
  const object = (related: Row) => rowText(compilation, typeOf(field), node, related);
  switch (direct?.kind) {
    case "one": {
      const related = tableRow(node.name.value);
      const found = sql`(select ${textSql(object(related))} from ${direct.rows.from} as ${related.alias} where ${direct.join(row, related)})`;
      return direct.required ? orMissing(found) : orNull([found]);
    }
    case "many":
      return listText(direct.rows.from, node.name.value, object, {
        condition: (related) => direct.join(row, related),
        order: direct.rows.order,
      });
    case "computed":
      return listText(direct.call(row.whole()), node.name.value, object, { order: [] });
    default:
      throw new IndirectError(node.name.value);
  }
}

/** What must be there and is not is an error, which Grafast tells. */
function orMissing(text: SQL): Text {
  return [sql`coalesce(${text}, missing_row())`];
}

/** The text of an object, of its members' texts by their names. @throws IndirectError when there are none */
export function objectText(parts: readonly (readonly [string, Text])[]): Text {
  if (parts.length === 0) throw new IndirectError("nothing selected");
  const members = parts.map(([key, text], index) => [
    index === 0 ? "{" : ",",
    `"${key}":`,
    ...text,
  ]);
  return [...members.flat(), "}"];
}
