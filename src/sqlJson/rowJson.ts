import { type Compilation, nestedKey } from "./fieldPart.ts";
import type { FieldNode, GraphQLObjectType } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { UnsupportedSelection, fieldOf, fieldsOf, typeOf } from "./selection.ts";
import { sqlJsonFieldOf } from "./sqlJsonField.ts";
import {
  hasUnencodableValues,
  type Text,
  objectJson,
  nullIfIncomplete,
  textSql,
} from "./jsonText.ts";
import { type Part, conjunction, listJson, type Row, tableRow } from "./rows.ts";
import { pageJson } from "./pageJson.ts";

type ObjectOf = [type: GraphQLObjectType, node: FieldNode, row: Row];

/** The JSON of one row's object. @throws UnsupportedSelection */
export function rowJson(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  row: Row,
): Text {
  return objectJson(
    fieldsOf(compilation, node.selectionSet).map(([key, child]) => [
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
  const sqlJson = sqlJsonFieldOf(field.extensions);
  const isPart = sqlJson?.kind === "many" || sqlJson?.kind === "manyPage";
  if (node.arguments?.length && !isPart) throw new UnsupportedSelection("argument");
  if (sqlJson?.kind === "column") {
    const text = sqlJson.write(row.column(sqlJson.column));
    if (!sqlJson.required) return nullIfIncomplete(text);
    return sqlJson.isPromised || hasUnencodableValues(sqlJson.write)
      ? orMissing(textSql(text))
      : text;
  }
  if (sqlJson?.kind === "value") {
    const text = sqlJson.write(sqlJson.call(row.whole()));
    return sqlJson.required ? orMissing(textSql(text)) : nullIfIncomplete(text);
  }
  if (sqlJson?.kind === "version") {
    const text: Text = ['"', sqlJson.of(row), '"'];
    if (!sqlJson.required) return nullIfIncomplete(text);
    return row.isOfFunction ? orMissing(textSql(text)) : text;
  }
  const object = (related: Row) => rowJson(compilation, typeOf(field), node, related);
  switch (sqlJson?.kind) {
    case "one": {
      const related = tableRow(node.name.value);
      const found = sql`(select ${textSql(object(related))} from ${sqlJson.rows.from} as ${related.alias} where ${sqlJson.join(row, related)})`;
      return sqlJson.required ? orMissing(found) : nullIfIncomplete([found]);
    }
    case "many":
    case "manyPage": {
      const within = (related: Row) => sqlJson.join(row, related);
      const list = (part: Part) => {
        const own = { ...part, ...conjunction(within, part.condition) };
        return listJson(sqlJson.rows.from, node.name.value, object, own);
      };
      if (sqlJson.kind === "many" && !node.arguments?.length)
        return list({ order: sqlJson.rows.order });
      const part = compilation.parts.get(nestedKey(type, node));
      if (part?.kind.kind === "list") return list(part.kind.part(part.bind));
      if (part?.kind.kind !== "page") throw new UnsupportedSelection(node.name.value);
      const { kind: page, bind } = part;
      const objectOf = (...of: ObjectOf) => rowJson(compilation, ...of);
      return pageJson(compilation, { type: typeOf(field), node, page, bind, objectOf, within });
    }
    case "computed":
      return listJson(
        sqlJson.call(row.whole()),
        node.name.value,
        (returned) => object({ ...returned, isOfFunction: true }),
        { order: [] },
      );
    default:
      throw new UnsupportedSelection(node.name.value);
  }
}

/** A missing required value is an error, which Grafast reports. */
function orMissing(text: SQL): Text {
  return [sql`coalesce(${text}, missing_row())`];
}
