import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runOnce } from "graphile-worker";
import pg from "pg";
import { createLog } from "../../src/process/log.ts";
import type { TaskEnvironment } from "../../src/workers/queue/defineTask.ts";
import { queueLogger } from "../../src/workers/queue/queueLogger.ts";
import { taskList } from "../../src/workers/tasks.ts";
import { runWatches } from "../../src/workers/tasks/run_watches.ts";
import { countStatements } from "../helpers/countStatements.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import { waitFor } from "../helpers/waitFor.ts";

let database: TestDatabase;
/** One connection, so that all statements of a run can be counted. */
let pool: pg.Pool;

beforeAll(async () => {
  database = await createDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 1, idleTimeoutMillis: 0 });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const log = createLog("silent");
const tasks = taskList({ log, heartbeatTimeoutMs: 60_000 } as TaskEnvironment, {
  run_watches: runWatches,
});

async function run(): Promise<void> {
  await database.pool.query("select queue_job('run_watches', '{}', 'counted', null, 5)");
  await runOnce({ pgPool: pool, taskList: tasks, concurrency: 1, logger: queueLogger(log) });
}

async function countRun(): Promise<number> {
  const client = await pool.connect();
  try {
    return await countStatements(client, async () => {
      client.release();
      await run();
      await pool.connect();
    });
  } finally {
    client.release();
  }
}

/** A watch of the products of a region, with a baseline. */
async function watchRegion(region: string): Promise<string> {
  const shown = "select t.id, t.name::text from products as t where";
  const { rows } = await database.pool.query<{ id: string }>(
    `with u as (insert into users (email, is_active) values ('watcher@example.com', true) returning id),
     r as (insert into user_roles (user_id, role_id) select u.id, r.id from u, roles r where r.is_system)
     insert into search_watches (user_id, name, entity, query, events, table_name, statement, statement_values, seen_statement, ids_at)
     select id, 'Region', 'products', 'region', '{CREATED,MATCHES,LEAVES,CHANGED}', 'products', $1, jsonb_build_array(null, $2::text), $3, 0
     from u returning id`,
    [
      `${shown} ($1::uuid[] is null or t.id = any ($1::uuid[])) and t.region = $2`,
      region,
      `${shown} t.id = any ($1::uuid[])`,
    ],
  );
  const id = rows[0]?.id ?? "";
  await waitFor("the baseline", async () => {
    await run();
    const found = await database.pool.query(
      "select from search_watches where id = $1 and is_ready",
      [id],
    );
    return found.rowCount === 1;
  });
  return id;
}

const makeProducts = (region: string, size: number) =>
  database.pool.query(
    `insert into products (erp_product_number, name, region)
     select gen_random_uuid(), 'Wine ' || n, $1 from generate_series(1, $2::integer) n`,
    [region, size],
  );

test("a run with 1,000 changed rows takes as many SQL statements as one with ten", async () => {
  const id = await watchRegion("Barolo");
  const counts: number[] = [];
  for (const size of [10, 1_000]) {
    await makeProducts("Barolo", size);
    counts.push(await countRun());
  }
  expect(counts[0]).toBeGreaterThan(10);
  expect(counts[1]).toBe(counts[0]);
  const { rows } = await database.pool.query(
    "select match_count from search_watches where id = $1",
    [id],
  );
  expect(rows).toEqual([{ match_count: 1_010 }]);
});
