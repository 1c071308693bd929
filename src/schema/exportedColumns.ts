import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { type SQL, sql } from "postgraphile/pg-sql2";
import { badUserInput } from "../errors/PublicError.ts";
import { type SearchField, type SearchRelation, resolveField } from "../query/searchTable.ts";
import { QuerySyntaxError } from "../query/QuerySyntaxError.ts";
import { excerpt } from "../query/excerpt.ts";
import { didYouMean } from "../text/suggest.ts";
import { isHidden } from "./columns.ts";
import { tagText } from "./labels.ts";
import { titleOf } from "./rowNames.ts";
import { insideSentence } from "../text/insideSentence.ts";
import { databaseName } from "./databaseName.ts";

/** The type of an exported value, which determines how it is written. */
type CellKind = "TEXT" | "INTEGER" | "DECIMAL" | "BOOLEAN" | "DATE" | "DATETIME" | "JSON";

/** A column of an exported list. */
export interface ListColumn {
  field: string;
  title: string;
  kind: CellKind;
  description: string | null;
  /** The value as SQL: text, except booleans and timestamps. */
  read: (row: SQL) => SQL;
  /** The names of the tables that it reads, in the database. */
  tables: readonly string[];
}

const maxColumns = 200;

/** Returns the path of a column's name in the arguments, for errors. */
type PathOf = (index: number) => readonly (string | number)[];

/**
 * The columns of an export of a list: the named ones, or all of the row itself.
 * @throws PublicError for an unknown column, with the nearest known ones
 */
export function listColumns(
  build: GraphileBuild.Build,
  table: PgResource,
  names: readonly string[] | null,
  pathOf: PathOf = () => ["columns"],
): ListColumn[] {
  const own = ownColumns(build, table);
  if (names === null) return [...own.values()];
  if (names.length === 0 || names.length > maxColumns)
    throw badUserInput(`columns: name 1 to ${maxColumns} columns`, { path: ["columns"] });
  return names.map((name, index) => {
    try {
      return own.get(name) ?? relatedColumn(build, table, name);
    } catch (error) {
      if (!(error instanceof QuerySyntaxError)) throw error;
      const path = pathOf(index);
      throw badUserInput(`${path.at(-1)}: ${error.reason}`, { path });
    }
  });
}

/** All columns of a row and of the rows that it refers to. */
export function exportedColumns(build: GraphileBuild.Build, table: PgResource): ListColumn[] {
  const related = [...build.searchTable(table).relations]
    .filter(([, { many }]) => !many)
    .flatMap(([name, relation]) =>
      [...relation.table().fields.keys()].map((field) => `${name}.${field}`),
    );
  return [
    ...ownColumns(build, table).values(),
    ...related.map((name) => relatedColumn(build, table, name)),
  ];
}

/** Columns and computed fields of a row, also those that cannot be searched, such as JSON. */
function ownColumns(build: GraphileBuild.Build, table: PgResource): Map<string, ListColumn> {
  const { codec } = table as PgResource<string, PgCodecWithAttributes>;
  const columns = new Map<string, ListColumn>();
  const searched = build.searchTable(table).fields;
  for (const [attributeName, attribute] of Object.entries(codec.attributes)) {
    const field = build.inflection.attribute({ attributeName, codec });
    const isReadable = attribute.extensions?.canSelect !== false && !isHidden(attribute);
    const known = searched.get(field);
    if (!isReadable || (!known && !isJson(build, attribute.codec))) continue;
    const title = tagText(attribute.extensions?.tags, "title") ?? titleOf(field);
    const column = sql.identifier(attributeName);
    columns.set(field, {
      ...{ field, title, kind: known ? kindOf(known) : "JSON", tables: [databaseName(table)] },
      description: attribute.description ?? null,
      read: (row) =>
        known ? cellOf(known, known.read(row)) : sql`to_jsonb(${row}.${column})::text`,
    });
  }
  for (const [field, known] of searched)
    if (!columns.has(field))
      columns.set(field, {
        ...{ field, title: known.title ?? titleOf(field), kind: kindOf(known) },
        tables: [databaseName(table)],
        description: known.description ?? null,
        read: (row) => cellOf(known, known.read(row)),
      });
  return columns;
}

function isJson(build: GraphileBuild.Build, codec: unknown): boolean {
  const { TYPES } = build.dataplanPg;
  return codec === TYPES.json || codec === TYPES.jsonb;
}

/** @throws QuerySyntaxError for an unknown name */
function relatedColumn(build: GraphileBuild.Build, table: PgResource, name: string): ListColumn {
  const path = name.split(".");
  const asked = { path, position: 0, end: name.length };
  const { relations, field } = resolveField(build.searchTable(table), asked, 0, () => {
    const known = exportedColumns(build, table).map((column) => column.field);
    return `${excerpt(name)} is not a column that can be exported${didYouMean(name, known)}`;
  });
  if (relations.length === 0 || relations.some(({ many }) => many))
    throw new QuerySyntaxError(`\`${name}\` is not one value of a row`, 0, name.length);
  return {
    ...{ field: name, title: relatedTitle(path, relations, field), kind: kindOf(field) },
    description: field.description ?? null,
    read: (row) => cellOf(field, related(row, relations, field)),
    tables: [table, ...relations.map((one) => build.pgResources[one.table().name])].map((read) =>
      databaseName(read as PgResource),
    ),
  };
}

/** A title such as "Wine type name". */
function relatedTitle(
  path: readonly string[],
  relations: readonly SearchRelation[],
  field: SearchField,
): string {
  const [first = "", ...rest] = [...relations, field].map(
    ({ title }, place) => title ?? titleOf(path[place] ?? ""),
  );
  return [first, ...rest.map(insideSentence)].join(" ");
}

function related(row: SQL, relations: readonly SearchRelation[], field: SearchField): SQL {
  const [relation, ...rest] = relations;
  if (!relation) return field.read(row);
  const other = sql.identifier(Symbol("related"));
  return sql`(select ${related(other, rest, field)} from ${relation.table().from} as ${other} where ${relation.join(row, other)} limit 1)`;
}

function kindOf({ kind, list }: SearchField): CellKind {
  if (list) return "TEXT";
  switch (kind) {
    case "integer":
    case "bigint":
      return "INTEGER";
    case "decimal":
    case "float":
      return "DECIMAL";
    case "boolean":
      return "BOOLEAN";
    case "instant":
    case "timestamp":
      return "DATETIME";
    case "date":
      return "DATE";
    default:
      return "TEXT";
  }
}

function cellOf({ kind, list, values }: SearchField, value: SQL): SQL {
  if (list) return sql`array_to_string((${value})::text[], ', ')`;
  if (kind === "boolean" || kind === "instant") return value;
  if (kind === "timestamp") return sql`(${value}) at time zone 'UTC'`;
  const renamed = [...(values ?? [])].filter(([name, stored]) => name !== stored);
  if (renamed.length === 0) return sql`(${value})::text`;
  const cases = renamed.map(
    ([name, stored]) => sql`when ${sql.literal(stored)} then ${sql.literal(name)}`,
  );
  return sql`case (${value})::text ${sql.join(cases, " ")} else (${value})::text end`;
}
