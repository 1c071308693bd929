import type { DatabaseError } from "pg";
import type pg from "pg";
import { readSource } from "../lint/source.ts";
import { isDatabaseError } from "../../errors/databaseErrors.ts";
import { adviseOnRows } from "./rows.ts";

const replayTimeout = "30s";

/**
 * Runs a file again statement by statement to find the failed one and the rows that cause it, for errors without a
 * position. The client's transaction is at the state before the file.
 * @returns undefined when it does not fail again or takes too long
 */
export async function replay(
  client: pg.ClientBase,
  text: string,
  first: DatabaseError,
): Promise<{ line: number; advice: readonly string[] } | undefined> {
  const source = readSource(text);
  const bytes = Buffer.from(text);
  await client.query(`set local statement_timeout = '${replayTimeout}'`);
  for (const [index, statement] of source.statements.entries()) {
    const end = source.statements[index + 1]?.at ?? bytes.length;
    await client.query("savepoint office_statement");
    try {
      await client.query(bytes.toString("utf8", statement.at, end));
      await client.query("release savepoint office_statement");
    } catch (error) {
      await client.query("rollback to savepoint office_statement");
      if (!isDatabaseError(error) || error.code !== first.code) return undefined;
      const sql = bytes.toString("utf8", statement.at, end);
      return {
        line: source.lineAt(statement.at + offsetOfMissing(error, sql)),
        advice: await adviseOnRows(client, error, { source, statement, bytes, end }),
      };
    }
  }
  return undefined;
}

/** The codes for a table, column or type that does not exist. */
const missingCodes = new Set(["42P01", "42703", "42704"]);

/**
 * The byte offset of the missing object's name in a statement: PostgreSQL gives no position for the target of a foreign
 * key, and a `create table` has many lines. 0 when the error is about something else.
 */
function offsetOfMissing({ code, message }: DatabaseError, sql: string): number {
  const name = missingCodes.has(code ?? "") ? /^\w+ "(\w+)"/.exec(message)?.[1] : undefined;
  if (name === undefined) return 0;
  const index = sql.search(new RegExp(`\\b${name}\\b`));
  return index < 0 ? 0 : Buffer.byteLength(sql.slice(0, index));
}
