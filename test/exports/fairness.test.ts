import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Proxy } from "../helpers/proxy.ts";
import type { ConstantOverrides } from "../../src/settings/constants.ts";
import { startProxy } from "../helpers/proxy.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";
import type { ExportService } from "../helpers/exports/exportService.ts";
import { startExportService } from "../helpers/exports/exportService.ts";

let exports: ExportService;
let proxy: Proxy;
let ids: string[];
let template: string;

beforeAll(async () => {
  exports = await startExportService();
  proxy = await startProxy(exports.files.url);
  ids = await exports.addProducts(3);
  template = await exports.makeTemplate("TABLE", [{ field: "name" }]);
});
// The store does not respond, so an export runs until the test ends it.
beforeEach(() => proxy.blackHole());
afterEach(async () => {
  await proxy.restore();
  await endWorkers();
  const { pool } = exports.service.database;
  await pool.query("delete from export_jobs");
  await pool.query("delete from export_slots");
  await pool.query("delete from graphile_worker._private_jobs");
});
afterAll(async () => {
  await proxy.stop();
  await exports.stop();
});

// Leaves room for scheduled jobs that wait for the silent store.
const startWorker = (
  settings: Record<string, string> = {},
  worker: ConstantOverrides["worker"] = {},
) =>
  exports.startWorker(
    { ...exports.files.env(proxy.url), WORKER_CONCURRENCY: "10", ...settings },
    { constants: { files: { timeoutMs: 60_000 }, worker } },
  );

async function person() {
  const { token } = await exports.service.login([
    ...["exports.create", "exports.read", "products.read"],
  ]);
  const ask = async (count: number) => {
    const asked: string[] = [];
    while (asked.length < count) asked.push((await exports.start(template, ids, token)).id);
    return asked;
  };
  const cancel = (id: string, verb = "cancelExportJob(id: $id) { status }") =>
    exports.service.ask(`mutation ($id: ID!) { ${verb} }`, { token, variables: { id } });
  return { token, ask, cancel };
}

/** The indexes of the running exports. */
async function running(asked: readonly string[]): Promise<number[]> {
  const { rows } = await exports.service.database.pool.query<{ id: string }>(
    "select id from export_jobs where state = 'running' and id = any ($1)",
    [asked],
  );
  return rows.map(({ id }) => asked.indexOf(id)).toSorted((a, b) => a - b);
}

const run = (asked: readonly string[], which: number[]) =>
  waitFor(`exports ${which.join(", ")} to run`, async () => {
    return String(await running(asked)) === String(which);
  });

/** Waits until no queued job could start another export. */
const nothingStarts = () =>
  waitFor("the queue to have started what it may", async () => {
    const { rowCount } = await exports.service.database.pool.query(
      `select from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
       where t.identifier = 'start_exports' or (t.identifier = 'run_export' and j.locked_at is null)`,
    );
    return rowCount === 0;
  });

describe("waiting exports", () => {
  test("run two at a time per user, beside those of another user", async () => {
    const [anna, bert] = [await person(), await person()];
    const annas = await anna.ask(6);
    const berts = await bert.ask(1);
    await startWorker();
    await run(annas, [0, 1]);
    await run(berts, [0]);
    await nothingStarts();
    expect(await running(annas)).toEqual([0, 1]);
    await proxy.restore();
    for (const id of annas) await exports.reaches(id, ["completed"], anna.token);
    const { rows } = await exports.service.database.pool.query<{ id: string }>(
      "select id from export_jobs order by started_at",
    );
    const order = rows.map(({ id }) => id);
    expect(order.indexOf(berts[0] ?? "")).toBeLessThan(order.indexOf(annas[2] ?? ""));
  });

  test("never leave all slots to one user", async () => {
    const [anna, bert] = [await person(), await person()];
    const annas = await anna.ask(3);
    await startWorker({ EXPORT_CONCURRENCY: "2" });
    await run(annas, [0]);
    await nothingStarts();
    expect(await running(annas)).toEqual([0]);
    await run(await bert.ask(1), [0]);
  });

  test("alternate between users when there is one slot", async () => {
    const [anna, bert] = [await person(), await person()];
    const annas = await anna.ask(3);
    const berts = await bert.ask(2);
    await startWorker({ EXPORT_CONCURRENCY: "1" });
    await run(annas, [0]);
    await anna.cancel(annas[0] ?? "");
    await run(berts, [0]);
    await bert.cancel(berts[0] ?? "");
    await run(annas, [1]);
    await anna.cancel(annas[1] ?? "");
    await run(berts, [1]);
  });

  test("use a free slot for the user with the fewest running exports", async () => {
    const [anna, bert, carl] = [await person(), await person(), await person()];
    const annas = await anna.ask(3);
    const berts = await bert.ask(2);
    await startWorker();
    await run(annas, [0, 1]);
    await run(berts, [0]);
    const carls = await carl.ask(1);
    await anna.cancel(annas[0] ?? "");
    // The oldest waiting exports belong to Anna and Bert, who have one running each.
    await run(carls, [0]);
    await nothingStarts();
    expect([await running(annas), await running(berts)]).toEqual([[1], [0]]);
  });

  test.each(["cancelExportJob(id: $id) { status }", "deleteExportJob(id: $id)"])(
    "take the slot of an export that ended by %s",
    async (verb) => {
      const anna = await person();
      const annas = await anna.ask(3);
      await startWorker();
      await run(annas, [0, 1]);
      await anna.cancel(annas[0] ?? "", verb);
      await run(annas, [1, 2]);
    },
  );

  test("are limited to EXPORT_CONCURRENCY over all workers", async () => {
    const asked = await Promise.all([1, 2, 3, 4].map(async () => (await person()).ask(1)));
    await startWorker();
    await startWorker();
    await waitFor("three exports to run", async () => (await running(asked.flat())).length === 3);
    await nothingStarts();
    expect(await running(asked.flat())).toHaveLength(3);
  });
});

test("another worker continues a killed worker's exports in their slots", async () => {
  const [anna, bert] = [await person(), await person()];
  const annas = await anna.ask(4);
  const first = await startWorker({}, { heartbeatMs: 200 });
  await run(annas, [0, 1]);
  first.signal("SIGKILL");
  await first.exited;
  const berts = await bert.ask(1);
  await proxy.restore();
  await startWorker({}, { heartbeatMs: 200 });
  for (const id of annas) await exports.reaches(id, ["completed"], anna.token);
  await exports.reaches(berts[0] ?? "", ["completed"], bert.token);
  const { rows } = await exports.service.database.pool.query<{ attempt: number }>(
    "select attempt from export_jobs where id = any ($1) order by created_at",
    [annas],
  );
  expect(rows.map(({ attempt }) => attempt)).toEqual([2, 2, 1, 1]);
});

test("a failed export releases its slot", async () => {
  const { pool } = exports.service.database;
  const anna = await person();
  const annas = await anna.ask(3);
  const worker = await startWorker({ EXPORT_CONCURRENCY: "1" });
  await run(annas, [0]);
  worker.signal("SIGKILL");
  await worker.exited;
  await pool.query(
    `update graphile_worker._private_jobs set attempts = max_attempts, locked_at = null, locked_by = null
     where payload -> 'input' ->> 'jobId' = $1`,
    [annas[0]],
  );
  await startWorker({ EXPORT_CONCURRENCY: "1" });
  await pool.query("select enqueue_job('clean_exports', '{}')");
  await run(annas, [1]);
});
