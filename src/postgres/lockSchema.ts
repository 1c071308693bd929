import { setTimeout } from "node:timers/promises";
import { poolFor } from "./pools.ts";

const responseTimeoutMs = 10_000;
const pollMs = 100;

/** The name of the advisory lock that a migration of a tenant schema holds until its commit. */
export function migrationLock(tenant: string): string {
  return `migrate ${tenant}`;
}

/**
 * Locks the shape of a tenant schema until the returned function is called, for readers that need several steps. Waits
 * for a running migration, and makes a new one wait; locks no table. `onWait` is called when a migration runs.
 */
export async function lockSchema(
  url: string,
  tenant: string,
  onWait: () => void,
): Promise<() => Promise<void>> {
  // A connection outside the pool: the pool may have only one, which the readers need.
  const pool = poolFor(url, "office_server", 1, {
    responseTimeoutMs,
    connectionTimeoutMillis: 5_000,
  });
  try {
    const client = await pool.connect();
    const values = [migrationLock(tenant)];
    await client.query("begin");
    const isHeld = async () => {
      const { rows } = await client.query<{ held: boolean }>(
        "select pg_try_advisory_xact_lock_shared(hashtextextended($1, 0)) as held",
        values,
      );
      return rows[0]?.held ?? false;
    };
    // Polls, because a waiting statement could not be distinguished from a database that does not respond.
    for (let tries = 0; !(await isHeld()); tries++) {
      if (tries === 0) onWait();
      await setTimeout(pollMs);
    }
    return async () => {
      // The lock ends with its connection.
      client.release(true);
      await pool.end();
    };
  } catch (error) {
    void pool.end();
    throw error;
  }
}
