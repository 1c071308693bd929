import type pg from "pg";
import { migrateTenant } from "../../../src/migration/migrateTenant.ts";
import { waitFor } from "../waitFor.ts";
import { createDatabase } from "../database.ts";

/** The main schema of the tests. */
export const tenant = "backoffice";

/** A migrated database with a queue, used as its administrator. */
export interface QueueDatabase {
  url: string;
  query: <Row extends pg.QueryResultRow>(
    sql: string,
    values?: unknown[],
  ) => Promise<pg.QueryResult<Row>>;
  /** Creates another tenant with a table `test_effects`. */
  makeTenant(name: string): Promise<void>;
  /** Enqueues a job like the functions of a tenant; returns its id. */
  enqueue(task: string, input: object, options?: { key?: string; in?: string }): Promise<string>;
  /** Waits until the tenant contains exactly these effects, in any order. */
  expectEffects(names: string[], inTenant?: string): Promise<void>;
  job(id: string): Promise<QueuedJob | undefined>;
  /** Waits until the queue no longer contains the job. */
  waitUntilGone(id: string): Promise<void>;
  drop(): Promise<void>;
}

export interface QueuedJob {
  locked_by: string | null;
  attempts: number;
  max_attempts: number;
  last_error: string | null;
}

export async function createQueueDatabase(): Promise<QueueDatabase> {
  const database = await createDatabase();
  const { url, pool } = database;
  const makeEffects = (name: string) =>
    pool.query(`
      create table ${name}.test_effects (name text, pid integer, role text, source text, correlation_id text);
      alter table ${name}.test_effects owner to office_owner;
      grant insert on ${name}.test_effects to office_worker`);
  await makeEffects(tenant);

  const job = async (id: string) => {
    const { rows } = await pool.query<QueuedJob>(
      "select locked_by, attempts, max_attempts, last_error from graphile_worker._private_jobs where id = $1",
      [id],
    );
    return rows[0];
  };
  return {
    url,
    query: (sql, values) => pool.query(sql, values),
    job,
    async makeTenant(name) {
      const client = await pool.connect();
      try {
        await migrateTenant(client, name);
      } finally {
        client.release();
      }
      await makeEffects(name);
    },
    async enqueue(task, input, { key, in: place = tenant } = {}) {
      const { rows } = await pool.query<{ id: string }>(
        `select ${place}.enqueue_job($1, $2, $3) as id`,
        [task, JSON.stringify(input), key],
      );
      return rows[0]!.id;
    },
    async expectEffects(names, inTenant = tenant) {
      const wanted = names.toSorted().join();
      await waitFor(`the effects ${wanted}`, async () => {
        const { rows } = await pool.query<{ name: string }>(
          `select name from ${inTenant}.test_effects order by name`,
        );
        const found = rows.map((row) => row.name).join();
        if (rows.length > names.length) throw new Error(`there are the effects ${found}`);
        return found === wanted;
      });
    },
    async waitUntilGone(id) {
      await waitFor(`job ${id} to end`, async () => (await job(id)) === undefined);
    },
    drop: () => database.drop(),
  };
}
