import type { PgResource } from "postgraphile/@dataplan/pg";
import { parseBoundQuery } from "../query/boundValues.ts";
import { compileQuery } from "../query/compile.ts";
import { type Table, tagText } from "./labels.ts";
import { databaseName } from "./databaseName.ts";
import { TagError } from "./TagError.ts";

/**
 * The query of the tag `@defaultQuery`, with which the console opens the list; null without the tag.
 * @throws Error that names the table, for a query that the API would reject
 */
export function defaultQuery(build: GraphileBuild.Build, table: Table): string | null {
  const query = defaultQueryText(table);
  return query === null ? null : checkedQuery(build, table, query, refusalOfDefault(table));
}

/** @throws Error when a table without a list has the tag */
export function rejectDefaultQuery(table: Table): void {
  if (defaultQueryText(table) !== null)
    throw refusalOfDefault(table)("the console has no list of its rows");
}

/**
 * The query of the tag `@choices` of a column: forms offer only the rows of the other table that match it. Null without
 * the tag. `other` is null where the column refers to no list of the console.
 * @throws Error that names the column, for a query that the API would reject, and without another table
 */
export function choicesQuery(
  build: GraphileBuild.Build,
  table: Table,
  column: string,
  other: Table | null,
): string | null {
  const query = tagText(table.codec.attributes[column]?.extensions?.tags, "choices");
  if (query === null) return null;
  const refusal = (why: string) =>
    new TagError(`The tag @choices of ${databaseName(table as PgResource)}.${column}: ${why}`);
  if (!other) throw refusal("the column refers to no table with a list in the console");
  return checkedQuery(build, other, query, refusal);
}

function checkedQuery(
  build: GraphileBuild.Build,
  table: Table,
  query: string,
  refusal: (why: string) => Error,
): string {
  try {
    const node = parseBoundQuery(query, null);
    compileQuery(node, build.searchTable(table as PgResource), () => new Date());
    return query;
  } catch (error) {
    throw refusal((error as Error).message);
  }
}

const defaultQueryText = ({ extensions }: Table): string | null =>
  tagText(extensions?.tags, "defaultQuery");

const refusalOfDefault =
  (table: Table) =>
  (why: string): Error =>
    new TagError(`The tag @defaultQuery of the table ${databaseName(table as PgResource)}: ${why}`);
