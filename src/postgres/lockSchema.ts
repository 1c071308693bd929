import { setTimeout } from "node:timers/promises";
import { poolFor } from "./pools.ts";

const answerMs = 10_000;
const lookMs = 100;

/** The name of the lock that a migration of a tenant holds from its beginning to its commit. */
export function migrationLock(tenant: string): string {
  return `migrate ${tenant}`;
}

/**
 * Keeps a tenant as it is until the returned function is called, for those who read its shape in several steps: a migration
 * that runs is waited for, and one that begins waits, with no table locked. `onWait` is told when there is one.
 */
export async function lockSchema(
  url: string,
  tenant: string,
  onWait: () => void,
): Promise<() => Promise<void>> {
  // A connection of its own: those who read need the pool's, of which there may be only one.
  const pool = poolFor(url, "office_server", 1, {
    answerMs,
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
    // Asked again and again: a statement that waited could not be told from a database that is silent.
    for (let tries = 0; !(await isHeld()); tries++) {
      if (tries === 0) onWait();
      await setTimeout(lookMs);
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
