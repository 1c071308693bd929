import type pg from "pg";
import { isDatabaseError } from "../src/postgres/databaseErrors.ts";

/** Locks of the migration are held meanwhile: a check that takes longer is left to whoever wrote the view. */
const timeoutMs = 2_000;

/**
 * Reads the views that the client's transaction made or described, as the owner sees them.
 * @returns the promises of their tags that the rows break: a key that several rows have, a required column that is null
 */
export async function brokenPromises(
  client: pg.ClientBase,
  log: (line: string) => void,
): Promise<string[]> {
  const { rows } = await client.query<{ broken: string; query: string }>(
    "select broken, query from view_promises()",
  );
  const found: string[] = [];
  for (const { broken, query } of rows)
    if (await hasRow(client, query, () => log(`WARNING: not checked within 2 s: ${broken}`)))
      found.push(broken);
  return found;
}

async function hasRow(client: pg.ClientBase, query: string, tooLong: () => void) {
  await client.query(`savepoint promise; set local statement_timeout = ${timeoutMs}`);
  try {
    return (await client.query(query)).rowCount !== 0;
  } catch (error) {
    if (!isDatabaseError(error) || error.code !== "57014") throw error;
    tooLong();
    return false;
  } finally {
    await client.query("rollback to savepoint promise");
  }
}
