import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { ErpWorld } from "../helpers/workers/erpWorld.ts";
import {
  emulatorOrders,
  orderNumbers,
  startErpWorld,
  storedOrders,
} from "../helpers/workers/erpWorld.ts";
import type { WorkerProcess } from "../helpers/workers/workerProcess.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

const numbers = orderNumbers(30);
let world: ErpWorld;
let service: Service;
let token: string;
let worker: WorkerProcess;

beforeAll(async () => {
  world = await startErpWorld({ orders: numbers.length, customers: 10, pageSize: 5 });
  service = await startService({ database: world.database });
  ({ token } = await service.login(["erpsync.run", "erpsync.read"]));
  worker = await start();
  // The schedule would add further imports.
  await world.sql("update erp_schedule set next_at = 'infinity' where what = 'import'");
  await world.runToEnd("IMPORT");
});
afterAll(async () => {
  await endWorkers();
  await service?.stop();
  await world?.stop();
});
afterEach(async () => {
  await release();
  await world.control("DELETE faults");
  await waitFor("all runs to end", async () => {
    const open = await world.sql("select from erp_sync_runs where finished_at is null");
    return open.length === 0;
  });
});

const start = () =>
  startWorkerProcess(
    world.database.url,
    { ...world.env, WORKER_CONCURRENCY: "4" },
    { constants: world.constants },
  );
/** Makes the next import read every order again. */
const forget = () => world.sql("select delete_erp_cursors()");

interface Handle {
  id: string;
  status: string;
  reused: boolean;
}

async function importOrders(): Promise<Handle> {
  const { data } = await service.ask("mutation { importErpOrders { id status reused } }", {
    token,
  });
  return data.importErpOrders;
}

async function cancel(id: string): Promise<string> {
  const { data } = await service.ask(
    "mutation ($id: ID!) { cancelErpSyncRun(id: $id) { status } }",
    { token, variables: { id } },
  );
  return data.cancelErpSyncRun.status;
}

async function row(id: string) {
  const [found] = await world.sql<{
    status: string;
    started_at: Date | null;
    finished_at: Date | null;
    orders_done: number;
    orders_updated: number;
  }>("select * from erp_sync_runs where id = $1", [id]);
  return found!;
}

let holder: pg.PoolClient | null = null;
const importLock = "hashtextextended('backoffice.erp_import', 0)";

/** Starts an import and pauses it before it stores its next page of orders, until `release`. */
async function importHeld(): Promise<{ id: string }> {
  await forget();
  const { id } = await importOrders();
  await waitFor("the first page of orders", async () => (await row(id)).orders_done > 0);
  holder = await world.database.pool.connect();
  await holder.query(`select pg_advisory_lock(${importLock})`);
  expect(await row(id)).toMatchObject({ status: "RUNNING" });
  return { id };
}

async function release(): Promise<void> {
  const held = holder;
  holder = null;
  await held?.query(`select pg_advisory_unlock(${importLock})`);
  held?.release();
}

const setSalesperson = (salesperson: string) =>
  world.control(`PATCH salesOrders/${numbers[3]}`, { salesperson });
async function salesperson(): Promise<string | undefined> {
  const [order] = await world.sql<{ salesperson: string }>(
    "select salesperson from orders where erp_order_number = $1",
    [numbers[3]],
  );
  return order?.salesperson;
}

describe("an import requested while another runs", () => {
  test("starts afterwards and includes the ERP's changes before the request", async () => {
    const first = await importHeld();
    await setSalesperson("LATE");
    const second = await importOrders();
    expect(second).toMatchObject({ status: "QUEUED", reused: false });
    expect(second.id).not.toBe(first.id);
    await release();
    const [one, two] = [
      await world.waitUntilEnded(first.id),
      await world.waitUntilEnded(second.id),
    ];
    expect([one.status, two.status]).toEqual(["SUCCEEDED", "SUCCEEDED"]);
    const [before, after] = [await row(first.id), await row(second.id)];
    expect(after.started_at!.getTime()).toBeGreaterThanOrEqual(before.finished_at!.getTime());
    expect(await salesperson()).toBe("LATE");
    // The first run reads all existing orders, the second the changes since.
    expect(one.orders_done).toBeGreaterThanOrEqual(numbers.length - 1);
    expect(two.orders_updated).toBe(1);
    expect(two.orders_done).toBeLessThan(numbers.length);
    expect(await storedOrders(world)).toEqual(await emulatorOrders(world, numbers));
  });

  test("is queued once for fifty requests", async () => {
    await importHeld();
    const handles = await Promise.all(Array.from({ length: 50 }, () => importOrders()));
    expect(new Set(handles.map(({ id }) => id)).size).toBe(1);
    expect(handles.filter(({ reused }) => !reused)).toHaveLength(1);
    expect(handles.every(({ status }) => status === "QUEUED")).toBe(true);
    const open = await world.sql<{ status: string }>(
      "select status from erp_sync_runs where finished_at is null order by queued_at",
    );
    expect(open).toEqual([{ status: "RUNNING" }, { status: "QUEUED" }]);
    await release();
    expect(await world.waitUntilEnded(handles[0]!.id)).toMatchObject({ status: "SUCCEEDED" });
  });

  test("starts when the running one is cancelled, and imports what that one skipped", async () => {
    const first = await importHeld();
    await setSalesperson("AFTER CANCEL");
    const second = await importOrders();
    expect(await cancel(first.id)).toBe("CANCELLED");
    await release();
    expect(await world.waitUntilEnded(second.id)).toMatchObject({ status: "SUCCEEDED" });
    expect(await salesperson()).toBe("AFTER CANCEL");
  });

  test("can be cancelled without cancelling the running one", async () => {
    const first = await importHeld();
    const second = await importOrders();
    expect(await cancel(second.id)).toBe("CANCELLED");
    await release();
    expect(await world.waitUntilEnded(first.id)).toMatchObject({ status: "SUCCEEDED" });
    expect(await row(second.id)).toMatchObject({ status: "CANCELLED", started_at: null });
  });

  test("waits while the running one waits for the ERP", async () => {
    const first = await importHeld();
    await world.control("POST faults", { kind: "status", status: 503, times: 6 });
    const second = await importOrders();
    await release();
    await waitFor("a retry", async () => (await row(first.id)).status === "RETRYING");
    expect(await row(second.id)).toMatchObject({ status: "QUEUED", started_at: null });
    await world.waitUntilEnded(first.id);
    await world.waitUntilEnded(second.id);
    const [before, after] = [await row(first.id), await row(second.id)];
    expect([before.status, after.status]).toEqual(["SUCCEEDED", "SUCCEEDED"]);
    expect(after.started_at!.getTime()).toBeGreaterThanOrEqual(before.finished_at!.getTime());
  });

  test("starts after the running one's worker was killed", async () => {
    const first = await importHeld();
    await setSalesperson("SURVIVES");
    const second = await importOrders();
    worker.signal("SIGKILL");
    await worker.exited;
    await release();
    worker = await start();
    await world.waitUntilEnded(second.id);
    const [before, after] = [await row(first.id), await row(second.id)];
    expect([before.status, after.status]).toEqual(["SUCCEEDED", "SUCCEEDED"]);
    expect(after.started_at!.getTime()).toBeGreaterThanOrEqual(before.finished_at!.getTime());
    expect(await salesperson()).toBe("SURVIVES");
  });
});

test("an import after a cancelled one imports the ERP's current changes", async () => {
  const first = await importHeld();
  expect(await cancel(first.id)).toBe("CANCELLED");
  await release();
  await setSalesperson("NEWER");
  const { id } = await importOrders();
  expect(await world.waitUntilEnded(id)).toMatchObject({ status: "SUCCEEDED" });
  expect(await salesperson()).toBe("NEWER");
});

test("a single order is imported while an import runs", async () => {
  const first = await importHeld();
  await setSalesperson("SINGLE");
  const { data } = await service.ask(
    "mutation ($n: String!) { importErpOrder(erpOrderNumber: $n) { id } }",
    { token, variables: { n: numbers[3] } },
  );
  const { id } = data.importErpOrder;
  await waitFor("a worker to take it", async () => (await row(id)).status === "RUNNING");
  expect(await row(first.id)).toMatchObject({ status: "RUNNING" });
  await release();
  expect(await world.waitUntilEnded(id)).toMatchObject({ status: "SUCCEEDED", orders_updated: 1 });
  expect(await world.waitUntilEnded(first.id)).toMatchObject({ status: "SUCCEEDED" });
  expect(await salesperson()).toBe("SINGLE");
});
