import type { Pool } from "pg";
import { isDatabaseError } from "../errors/databaseErrors.ts";

/** How far a replica is behind its primary. */
export interface ReplicaLag {
  /** Bytes of write-ahead log that are not replayed yet. */
  bytes: number;
  /** Seconds until the replica shows the primary's present state; where that is long, the age of its newest change. */
  seconds: number;
}

const maxWaitMs = 1_000;
const responseTimeoutMs = 2_500;

/**
 * Compares a replica with its primary; both pools act as `office_server`.
 * @throws DatabaseError OFR01 where one is not a replica of the other
 */
export async function lagOf(primary: Pool, replica: Pool, tenant: string): Promise<ReplicaLag> {
  const come = await primary.query<{ mark: string | null }>(
    `select "${tenant}".write_mark() as mark`,
  );
  const mark = come.rows[0]?.mark ?? null;
  if (mark === null) throw new Error("DATABASE_URL is a replica itself");
  const started = performance.now();
  const ask = async (expression: string, values: unknown[]) => {
    // A silent server must not hold the connection for ever.
    const question = {
      text: `select ${expression} as found`,
      values,
      query_timeout: responseTimeoutMs,
    };
    const { rows } = await replica.query<{ found: number }>(question);
    return rows[0]?.found ?? 0;
  };
  const bytes = await ask(`greatest("${tenant}".behind_mark($1), 0)::float8`, [mark]);
  if (bytes === 0) return { bytes, seconds: 0 };
  try {
    await ask(`"${tenant}".wait_for_mark($1, $2)`, [mark, maxWaitMs]);
    return { bytes, seconds: (performance.now() - started) / 1000 };
  } catch (error) {
    if (!isDatabaseError(error) || error.code !== "OFR02") throw error;
    const age = "extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8";
    return { bytes, seconds: Math.max(maxWaitMs / 1000, await ask(age, [])) };
  }
}
