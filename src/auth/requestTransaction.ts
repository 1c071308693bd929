import type { Pool, PoolClient } from "pg";
import type { RequestInfo, RequestSettings } from "./identity.ts";
import { settingsOf } from "./identity.ts";

/**
 * Runs `work` in a transaction with the request's details: as the request role with the caller's permissions, or as the
 * server, which may only log users in.
 */
export async function inRequestTransaction<T>(
  pool: Pool,
  info: RequestInfo,
  settings: RequestSettings,
  as: "caller" | "server",
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const { role, ...rest } = settingsOf(info, settings);
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query("begin");
    // The role is set last: it may not be allowed to set the others.
    const values = Object.entries(as === "caller" ? { ...rest, role } : rest);
    await client.query(
      "select set_config(name, value, true) from unnest($1::text[], $2::text[]) as s(name, value)",
      [values.map(([name]) => name), values.map(([, value]) => value)],
    );
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    // A connection that cannot roll back is closed instead of returned.
    await client.query("rollback").catch((broken: unknown) => {
      failure = broken as Error;
    });
    throw error;
  } finally {
    client.release(failure);
  }
}
