import type pg from "pg";
import { isDatabaseError } from "../errors/databaseErrors.ts";

/** Short, because the migration holds locks meanwhile. */
const defaultTimeoutMs = 2_000;

/**
 * Checks the tags of views that the client's transaction created or commented, against the owner's rows.
 * @returns violations: duplicate keys, nulls in required columns, values that cannot be computed
 */
export async function brokenViewTags(
  client: pg.ClientBase,
  log: (line: string) => void,
  timeoutMs = defaultTimeoutMs,
): Promise<string[]> {
  const { rows } = await client.query<{ broken: string; query: string }>(
    "select broken, query from view_promises()",
  );
  const found: string[] = [];
  for (const { broken, query } of rows) {
    const outcome = await runQuery(client, query, timeoutMs);
    if (outcome === "row") found.push(broken);
    if (outcome === "timeout") log(`WARNING: not checked within ${timeoutMs} ms: ${broken}`);
    if (typeof outcome === "object")
      found.push(`${broken.split(":")[0]}: cannot be read: ${outcome.message}`);
  }
  return found;
}

async function runQuery(
  client: pg.ClientBase,
  query: string,
  timeoutMs: number,
): Promise<"row" | "none" | "timeout" | Error> {
  await client.query(`savepoint promise; set local statement_timeout = ${timeoutMs}`);
  try {
    return (await client.query(query)).rowCount === 0 ? "none" : "row";
  } catch (error) {
    if (!isDatabaseError(error)) throw error;
    return error.code === "57014" ? "timeout" : error;
  } finally {
    await client.query("rollback to savepoint promise");
  }
}
