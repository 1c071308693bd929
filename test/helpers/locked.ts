import type pg from "pg";
import { waitFor } from "./waitFor.ts";

/** Holds an exclusive lock on a table during `work`; `release` ends it earlier. */
export async function locked(
  pool: pg.Pool,
  table: string,
  work: (release: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const client = await pool.connect();
  let held = true;
  const release = async () => {
    if (!held) return;
    held = false;
    await client.query("rollback");
    client.release();
  };
  try {
    await client.query(`begin; lock table ${table} in access exclusive mode`);
    await work(release);
  } finally {
    await release();
  }
}

/** Waits until a session of the database waits for a lock. */
export async function waitForWaiter(pool: pg.Pool): Promise<void> {
  await waitFor("a session to wait for the lock", async () => {
    const { rows } = await pool.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return rows.length > 0;
  });
}
