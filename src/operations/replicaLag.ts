import type { Pool } from "pg";

/** How far a replica is behind its primary. */
export interface ReplicaLag {
  /** Of the write-ahead log, not replayed yet. */
  bytes: number;
  /** Since the newest change that it shows was made; 0 when it shows all. */
  seconds: number;
}

const answerMs = 3_000;

/**
 * Compares a replica with its primary at this moment; both pools act as `office_server`.
 * @throws DatabaseError OFR01 where the one is no replica of the other
 */
export async function lagOf(primary: Pool, replica: Pool, area: string): Promise<ReplicaLag> {
  const come = await primary.query<{ mark: string | null }>(
    `select "${area}".write_mark() as mark`,
  );
  const mark = come.rows[0]?.mark ?? null;
  if (mark === null) throw new Error("DATABASE_URL is a replica itself");
  const question = {
    text: `select behind.bytes, case when behind.bytes = 0 then 0
       else coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()), 0) end::float8 as seconds
     from (select greatest("${area}".behind_mark($1), 0)::float8 as bytes) as behind`,
    values: [mark],
    // One that is silent must not keep a connection for ever.
    query_timeout: answerMs,
  };
  const { rows } = await replica.query<ReplicaLag>(question);
  return rows[0] ?? { bytes: 0, seconds: 0 };
}
