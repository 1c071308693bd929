import type { FieldNode, GraphQLObjectType } from "graphql";
import { TYPES } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { sqlJsonFieldOf } from "./sqlJsonField.ts";
import type { AskedGroups } from "./groupsPart.ts";
import { jsonEncoderOf } from "./jsonEncoder.ts";
import { type Part, arrayJson, whereSql } from "./listJson.ts";
import { tableRow } from "./row.ts";
import { type Fragments, UnsupportedSelection, fieldOf, fieldsOf, typeOf } from "./selection.ts";
import { type Text, objectJson, orNull, textSql } from "./text.ts";

/** The rows that are aggregated. */
export interface Counted {
  from: SQL;
  name: string;
  matching: Pick<Part, "condition">;
}

/** The JSON of aggregates over rows. @throws UnsupportedSelection */
export function aggregatesJson(
  document: Fragments,
  type: GraphQLObjectType,
  node: FieldNode,
  { from, name, matching }: Counted,
): Text {
  const row = tableRow(name);
  const object = objectOf(document, type, node, row.alias, []);
  // The subquery returns one row also when no aggregate is selected.
  return [
    sql`(select ${textSql(object)} from ${from} as ${row.alias}${whereSql(row, matching)} having true)`,
  ];
}

/** Groups of rows; `mayBeCut` allows the response to be split after each group. */
interface GroupsToWrite extends Pick<AskedGroups, "keys"> {
  limit: SQL;
  mayBeCut: boolean;
}

/** The JSON of aggregates over groups of rows. @throws UnsupportedSelection */
export function groupsJson(
  document: Fragments,
  type: GraphQLObjectType,
  node: FieldNode,
  { from, name, matching }: Counted,
  { keys, limit, mayBeCut }: GroupsToWrite,
): Text {
  const row = tableRow(name);
  const group = sql.identifier(Symbol("group"));
  const columns = keys.map(({ of, codec }, index) => {
    const column = sql.identifier(`key ${index}`);
    const value = sql`${group}.${column}`;
    return { value, codec, select: sql`${of(row.alias)} as ${column}` };
  });
  const texts = columns.map(({ value, codec }) =>
    orNull(keyText(sql`(${codec.castFromPg?.(value, false) ?? value})::text`)),
  );
  const object = objectOf(document, type, node, row.alias, texts);
  const values = sql.join(
    columns.map(({ value }) => value),
    ", ",
  );
  const made = sql.join(
    columns.map(({ select }) => select),
    ", ",
  );
  const groups = sql`select ${textSql(object)}
    from ${from} as ${row.alias} cross join lateral (select ${made}) as ${group}${whereSql(row, matching)}
    group by ${values} order by row(${values}) ${limit}`;
  return arrayJson(sql`array(${groups})`, mayBeCut);
}

function keyText(value: SQL): Text {
  const write = jsonEncoderOf(TYPES.text, String);
  if (!write) throw new UnsupportedSelection("keys");
  return write(value);
}

function objectOf(
  document: Fragments,
  type: GraphQLObjectType,
  node: FieldNode,
  row: SQL,
  keys: readonly Text[],
): Text {
  return objectJson(
    fieldsOf(document, type, node.selectionSet).map(([key, child]) => {
      if (child.name.value === "__typename") return [key, [`"${type.name}"`]];
      const field = fieldOf(type, child);
      const sqlJson = sqlJsonFieldOf(field.extensions);
      switch (sqlJson?.kind) {
        case "groupKeys":
          return [key, ["[", ...keys.flatMap((text, n) => (n === 0 ? text : [",", ...text])), "]"]];
        case "figures":
          return [key, objectOf(document, typeOf(field), child, row, [])];
        case "figure": {
          const text = sqlJson.write(sqlJson.of(row));
          return [key, sqlJson.required ? text : orNull(text)];
        }
        default:
          throw new UnsupportedSelection(child.name.value);
      }
    }),
  );
}
