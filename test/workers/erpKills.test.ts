import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { faultKills } from "../helpers/environment.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { ErpWorld } from "../helpers/workers/erpWorld.ts";
import {
  emulatorOrders,
  orderNumbers,
  startErpWorld,
  storedOrders,
} from "../helpers/workers/erpWorld.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

const kills = faultKills;
const longestLifeMs = 600;

jest.setTimeout(60_000 + kills * 5_000);

const numbers = orderNumbers(160);
let world: ErpWorld;

beforeAll(async () => {
  world = await startErpWorld({ orders: numbers.length, pageSize: 5 });
});
afterAll(async () => {
  await endWorkers();
  await world?.stop();
});

/** The runs whose jobs a worker has taken and not finished. */
const lockedRuns = () =>
  world.sql<{ id: string }>(
    "select j.payload -> 'input' ->> 'runId' as id from graphile_worker._private_jobs j where j.locked_by is not null",
  );

/** Simulates that the workers' heartbeats have timed out. */
async function freeJobs(): Promise<void> {
  // Two statements: `release_dead` deletes timed-out workers as well, and one command cannot delete a row twice.
  await world.sql("delete from office_jobs.workers");
  await world.sql("select office_jobs.release_dead('0 seconds')");
}

test(`imports every order once when workers are killed ${kills} times`, async () => {
  const interrupted = new Set<string>();
  for (let kill = 0; kill < kills; kill++) {
    await world.queue("IMPORT");
    await world.queue("RECHECK");
    const worker = await startWorkerProcess(world.database.url, world.env, {
      constants: world.constants,
    });
    // On a slow machine, the random moments may all come before the worker takes a job.
    if (kill % 5 === 0) await waitFor("a job to run", async () => (await lockedRuns()).length > 0);
    await delay(Math.random() * longestLifeMs);
    worker.signal("SIGKILL");
    await worker.exited;
    for (const { id } of await lockedRuns()) interrupted.add(id);
    await freeJobs();
    await world.control("POST salesOrders/touch", { count: 15 });
    // The cursor is reset regularly, so that there is always work.
    if (kill % 10 === 9) await world.sql("update erp_cursors set cursor = null");
  }
  expect(interrupted.size).toBeGreaterThan(kills / 10);

  await startWorkerProcess(world.database.url, world.env, { constants: world.constants });
  // Runs whose worker died three times in a row have failed with a reason.
  await world.runToEnd("IMPORT");
  expect(await world.runToEnd("IMPORT")).toMatchObject({ status: "SUCCEEDED", error: null });
  expect(await world.runToEnd("RECHECK")).toMatchObject({ status: "SUCCEEDED", error: null });
  await waitFor("all runs to end", async () => {
    await world.sql("select fail_lost_erp_runs()");
    const open = await world.sql(
      "select from erp_sync_runs where status not in ('SUCCEEDED', 'FAILED')",
    );
    return open.length === 0;
  });
  const reasons = await world.sql<{ error: string }>(
    "select distinct error from erp_sync_runs where status = 'FAILED'",
  );
  for (const { error } of reasons) expect(error).toMatch(/^Given up: .*worker.* died/i);

  expect(await storedOrders(world)).toEqual(await emulatorOrders(world, numbers));
  const made = await world.sql<{ entity: string; rows: number; made: number; gone: number }>(
    `select e.entity, e.rows::integer, count(*) filter (where a.operation = 'CREATE')::integer as made,
       count(*) filter (where a.operation = 'DELETE')::integer as gone
     from (values ('Order', (select count(*) from orders)), ('OrderLine', (select count(*) from order_lines)),
       ('Customer', (select count(*) from customers))) as e(entity, rows)
       join audit_log a on a.entity_type = e.entity
     group by 1, 2`,
  );
  expect(made).toHaveLength(3);
  for (const row of made) expect(row).toEqual({ ...row, made: row.rows, gone: 0 });
});
