import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { waitFor } from "../helpers/waitFor.ts";
import type { ErpWorld } from "../helpers/workers/erpWorld.ts";
import {
  emulatorOrders,
  orderNumbers,
  startErpWorld,
  storedOrders,
} from "../helpers/workers/erpWorld.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

const numbers = orderNumbers(80);
let world: ErpWorld;

beforeAll(async () => {
  world = await startErpWorld({ orders: numbers.length, customers: 20, pageSize: 10 });
  await startWorkerProcess(world.database.url, world.env, { constants: world.constants });
});
afterAll(async () => {
  await endWorkers();
  await world?.stop();
});
beforeEach(async () => {
  await world.control("DELETE faults");
  await cleanUp(5);
});

/** A scheduled import may write concurrently, and a deadlock may abort the cleanup. */
async function cleanUp(attempts: number): Promise<void> {
  try {
    await world.sql("delete from orders");
    await world.sql("delete from customers");
    await world.sql("update erp_cursors set cursor = null");
    await world.sql("delete from erp_import_failures");
  } catch (error) {
    const isDeadlock = error instanceof Error && "code" in error && error.code === "40P01";
    if (!isDeadlock || attempts === 1) throw error;
    await cleanUp(attempts - 1);
  }
}

const isWhole = async () => {
  expect(await storedOrders(world)).toEqual(await emulatorOrders(world, numbers));
  const twice = await world.sql(
    `select entity_id from audit_log where entity_type = 'Order' and operation = 'CREATE'
     and entity_id in (select id::text from orders) group by 1 having count(*) <> 1`,
  );
  expect(twice).toEqual([]);
};

describe("with a faulty ERP", () => {
  test.each<[string, Record<string, unknown>]>([
    ["answers too late", { kind: "slow", ms: 3_000, set: "salesOrders", after: 2 }],
    ["fails", { kind: "status", status: 500, times: 4, set: "salesOrders", after: 1 }],
    ["is unreachable", { kind: "status", status: 503, times: 5 }],
    [
      "is busy and sends Retry-After",
      { kind: "status", status: 429, retryAfter: "1", times: 3, after: 3 },
    ],
    ["refuses tokens for a while", { kind: "status", status: 500, times: 3, set: "token" }],
    [
      "closes the connection during a response",
      { kind: "drop", times: 4, set: "salesOrders", after: 2 },
    ],
    ["truncates JSON", { kind: "malformed", times: 3, set: "salesOrders", after: 1 }],
    ["repeats a page", { kind: "duplicate", times: 2, set: "salesOrders", after: 2 }],
    ["overlaps its pages", { kind: "overlap", times: 3, set: "salesOrders", after: 1 }],
    [
      "changes orders while pages are read",
      { kind: "change", times: 3, set: "salesOrders", after: 1 },
    ],
    ["sends records in reverse order", { kind: "disorder", times: 3, set: "salesOrders" }],
    ["fails for customers", { kind: "status", status: 500, times: 4, set: "customers" }],
  ])("imports every order once when it %s", async (_how, fault) => {
    await world.control("POST faults", fault);
    const run = await world.runToEnd("IMPORT");
    expect(run).toMatchObject({ status: "SUCCEEDED", error: null, failures: 0 });
    await world.runToEnd("IMPORT");
    await isWhole();
  });

  test("ends the run with an error when its page links form a cycle, and the next run succeeds", async () => {
    await world.control("POST faults", { kind: "loop", times: 1_000, set: "salesOrders" });
    const run = await world.runToEnd("IMPORT");
    expect(run.status).toBe("FAILED");
    expect(run.error).toMatch(/given up after 8 attempts/);
    await world.control("DELETE faults");
    await world.runToEnd("IMPORT");
    await isWhole();
  });

  test("retries a run a limited number of times when it never responds, and recovers later", async () => {
    await world.control("POST faults", { kind: "status", status: 500, times: 100_000 });
    const run = await world.runToEnd("IMPORT");
    expect(run).toMatchObject({ status: "FAILED", attempts: 8 });
    expect(run.error).toMatch(/^The ERP .* \(given up after 8 attempts\)$/);
    const seen = () =>
      world.sql(
        "select erp_is_up, erp_error from erp_cursors order by erp_seen_at desc nulls last limit 1",
      );
    expect(await seen()).toEqual([{ erp_is_up: false, erp_error: run.error }]);
    await world.control("DELETE faults");
    expect(await world.runToEnd("IMPORT")).toMatchObject({ status: "SUCCEEDED" });
    expect(await seen()).toEqual([{ erp_is_up: true, erp_error: null }]);
    await isWhole();
  });

  test("waits an hour at most when it requests a delay of thirty years", async () => {
    await world.control("POST faults", {
      kind: "status",
      status: 429,
      retryAfter: "999999999",
      times: 1_000,
    });
    const id = await world.queue("IMPORT");
    const [row] = await waitFor("the run to wait", async () => {
      const rows = await world.sql<{ minutes: number; error: string }>(
        `select extract(epoch from retry_at - now())::integer / 60 as minutes, error from erp_sync_runs
         where id = $1 and status = 'RETRYING'`,
        [id],
      );
      return rows.length > 0 && rows;
    });
    expect(row?.minutes).toBeLessThanOrEqual(60);
    expect(row?.error).toContain("fewer requests");
    // The next test's import must not wait for this run.
    await world.sql(
      "update erp_sync_runs set status = 'CANCELLED', finished_at = now() where id = $1",
      [id],
    );
  });

  test("reports rejected credentials to staff at once", async () => {
    await world.control("POST tokens/expire");
    await world.control("POST faults", { kind: "status", status: 401, times: 1_000 });
    expect(await world.runToEnd("IMPORT")).toMatchObject({ status: "FAILED", attempts: 1 });
    await world.control("DELETE faults");
  });

  test("restarts the import when it rejects the cursor", async () => {
    await world.runToEnd("IMPORT");
    await world.sql("update erp_cursors set cursor = 'not one of ours'");
    const run = await world.runToEnd("IMPORT");
    expect(run).toMatchObject({ status: "SUCCEEDED", orders_created: 0, orders_updated: 0 });
    await isWhole();
  });
});

describe("with a wrong ERP clock", () => {
  let other: ErpWorld;
  beforeAll(async () => {
    other = await startErpWorld({ orders: 12, customers: 5 });
    await startWorkerProcess(other.database.url, other.env, { constants: other.constants });
  });
  afterAll(() => other?.stop());

  test("misses no change when the clock is an hour slow, corrected, and an hour fast", async () => {
    for (const skewMs of [-3_600_000, 0, 3_600_000]) {
      await other.control("PUT clock", { skewMs });
      for (const turn of ["first", "second"]) {
        const email = `${turn}${skewMs}@example.com`;
        await other.control("PATCH salesOrders/S-ORD100002", { email });
        await other.runToEnd("IMPORT");
        const rows = await other.sql(
          "select email from orders where erp_order_number = 'S-ORD100002'",
        );
        expect(rows).toEqual([{ email }]);
      }
    }
    const held = await emulatorOrders(other, orderNumbers(12));
    expect(await storedOrders(other)).toEqual(held);
  });
});

describe("two workers", () => {
  test("produce the same result as one when they import, recheck and re-import orders concurrently", async () => {
    await startWorkerProcess(world.database.url, world.env, { constants: world.constants });
    const ids: string[] = [];
    for (let round = 0; round < 4; round++) {
      ids.push(
        await world.queue("IMPORT"),
        await world.queue("RECHECK"),
        await world.queue("DATA_RECHECK"),
      );
      for (const number of numbers.slice(round * 10, round * 10 + 10))
        ids.push(await world.queue("ORDER", number));
      await world.control("POST salesOrders/touch", { count: 20 });
      await world.sql("update erp_cursors set cursor = null where entity = 'orders'");
    }
    for (const id of new Set(ids)) {
      const { status, error } = await world.waitUntilEnded(id);
      expect({ status, error }).toEqual({ status: "SUCCEEDED", error: null });
    }
    await world.runToEnd("IMPORT");
    await isWhole();
  });
});
