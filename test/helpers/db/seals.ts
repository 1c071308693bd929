import type pg from "pg";
import { waitFor } from "../waitFor.ts";

/** A link that `seal_audit_log` added to a chain. */
export interface Sealed {
  tree: string;
  sealed: number;
  head: string;
}

/** Calls the job's function once, without the clock tolerance. */
export async function sealBatch(pool: pg.Pool, atMost = 2000): Promise<Sealed[]> {
  const client = await pool.connect();
  try {
    await client.query("set role office_worker");
    return (await client.query<Sealed>("select * from seal_audit_log('0', $1)", [atMost])).rows;
  } finally {
    await client.query("reset role");
    client.release();
  }
}

/** Seals all rows. Needs several calls, because open transactions of other tests in the cluster can still write. */
export async function sealAll(pool: pg.Pool, atMost = 2000): Promise<Sealed[]> {
  const all: Sealed[] = [];
  // The first mark follows all rows; the second appears once the first is sealed.
  for (const what of ["a mark", "the rows before the mark to be sealed"]) {
    const { rows } = await pool.query<{ now: string }>("select clock_timestamp()::text as now");
    await waitFor(what, async () => {
      all.push(...(await sealBatch(pool, atMost)));
      const { rowCount } = await pool.query(
        "select from audit_seal_marks where marked_at > $1::timestamptz",
        [rows[0]!.now],
      );
      return rowCount === 2;
    });
  }
  return all;
}
