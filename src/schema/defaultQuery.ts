import type { PgResource } from "postgraphile/@dataplan/pg";
import { parseBoundQuery } from "../query/boundValues.ts";
import { compileQuery } from "../query/compile.ts";
import { type Table, tagText } from "./labels.ts";
import { databaseName } from "./databaseName.ts";

/**
 * The query of the tag `@defaultQuery`, with which the console opens the list; null without the tag.
 * @throws Error that names the table, for a query that the API would reject
 */
export function defaultQuery(build: GraphileBuild.Build, table: Table): string | null {
  const query = textOf(table);
  if (query === null) return null;
  try {
    const node = parseBoundQuery(query, null);
    compileQuery(node, build.searchTable(table as PgResource), () => new Date());
    return query;
  } catch (error) {
    throw refusal(table, (error as Error).message);
  }
}

/** @throws Error when a table without a list has the tag */
export function rejectDefaultQuery(table: Table): void {
  if (textOf(table) !== null) throw refusal(table, "the console has no list of its rows");
}

const textOf = ({ extensions }: Table): string | null => tagText(extensions?.tags, "defaultQuery");

const refusal = (table: Table, why: string): Error =>
  new Error(`The tag @defaultQuery of the table ${databaseName(table as PgResource)}: ${why}`);
