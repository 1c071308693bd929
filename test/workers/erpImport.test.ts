import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { migrateTenant } from "../../src/migration/migrateTenant.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { ErpWorld } from "../helpers/workers/erpWorld.ts";
import {
  faultOf,
  emulatorOrders,
  orderNumbers,
  startErpWorld,
  storedOrders,
} from "../helpers/workers/erpWorld.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

const count = 260;
const numbers = orderNumbers(count);
let world: ErpWorld;

beforeAll(async () => {
  world = await startErpWorld({ orders: count });
  await startWorkerProcess(world.database.url, world.env, { constants: world.constants });
});
afterAll(async () => {
  await endWorkers();
  await world?.stop();
});

/** Row versions of everything that an import may write besides its own records. */
async function versions() {
  const tables = [
    "customers",
    "orders",
    "order_lines",
    "order_import_issues",
    "audit_log",
    "erp_import_failures",
  ];
  const parts = tables.map((table) => `select '${table}', id::text, xmin::text from ${table}`);
  return world.sql(`${parts.join(" union all ")} order by 1, 2`);
}
const openCodes = async (number: string) => {
  const rows = await world.sql<{ code: string }>(
    `select i.code from orders o join order_import_issues i on i.order_id = o.id
     where o.erp_order_number = $1 and i.resolved_at is null order by 1`,
    [number],
  );
  return rows.map(({ code }) => code);
};
const withFault = (fault: string) => numbers.find((number) => faultOf(number) === fault)!;

describe("the first import", () => {
  test("imports every order once with customer and lines, and issues only for deliberate faults", async () => {
    const run = await world.runToEnd("IMPORT");
    expect(run).toMatchObject({
      status: "SUCCEEDED",
      error: null,
      orders_created: count,
      failures: 0,
    });
    // Pages overlap: repeated orders are unchanged.
    expect(run.orders_done).toBe(run.orders_created + run.orders_updated + run.orders_unchanged);
    expect(await storedOrders(world)).toEqual(await emulatorOrders(world, numbers));
  });

  test("writes nothing when repeated without changes", async () => {
    const before = await versions();
    expect(before.length).toBeGreaterThan(1_000);
    expect(await world.runToEnd("IMPORT")).toMatchObject({ orders_created: 0, orders_updated: 0 });
    expect(await versions()).toEqual(before);
  });
});

describe("later imports", () => {
  test("import only new and changed records", async () => {
    const number = numbers[3]!;
    await world.control(`PATCH salesOrders/${number}`, { salesperson: "NEW" });
    const { numbers: added } = await world.control("POST salesOrders", { count: 2 });
    const run = await world.runToEnd("IMPORT");
    expect(run).toMatchObject({ orders_created: 2, orders_updated: 1, failures: 0 });
    const rows = await world.sql<{ n: string }>(
      "select erp_order_number as n from orders where salesperson = 'NEW' or erp_order_number = any ($1) order by 1",
      [added],
    );
    expect(rows.map(({ n }) => n)).toEqual([number, ...added].toSorted());
  });

  test("record an unreadable order, import the others, and clear the issue when it becomes readable", async () => {
    const [bad, good] = [numbers[5]!, numbers[6]!];
    await world.control(`PATCH salesOrders/${bad}`, { "salesOrderLines[0].quantity": "many" });
    await world.control(`PATCH salesOrders/${good}`, { salesperson: "GOOD" });
    expect(await world.runToEnd("IMPORT")).toMatchObject({ orders_updated: 1, failures: 1 });
    const notes = () => world.sql("select record, erp_order_number, path from erp_import_failures");
    expect(await notes()).toEqual([
      { record: `order ${bad}`, erp_order_number: bad, path: expect.stringContaining("quantity") },
    ]);
    await world.control(`POST salesOrders/${bad}/repair`);
    expect(await world.runToEnd("IMPORT")).toMatchObject({ failures: 0 });
    expect(await notes()).toEqual([]);
  });

  test("clear a data issue after its correction in the ERP", async () => {
    const number = withFault("price.missing");
    expect(await openCodes(number)).toEqual(["price.missing"]);
    await world.control(`POST salesOrders/${number}/repair`);
    await world.runToEnd("IMPORT");
    expect(await openCodes(number)).toEqual([]);
  });
});

describe("the recheck", () => {
  test("clears the gaps that a new rule covers and keeps the others", async () => {
    const cleared = withFault("warehouse.unmapped");
    const left = withFault("vat_code.unmapped");
    const seen = () =>
      world.sql("select xmin::text from order_import_issues where code = 'vat_code.unmapped'");
    const before = await seen();
    await world.sql(
      "insert into erp_mapping_rules (code, key, target) values ('warehouse.unmapped', 'POPUP', 'SHOP')",
    );
    const [gaps] = await world.sql<{ n: number }>(
      "select count(*)::integer as n from orders where has_import_mapping_issue",
    );
    const run = await world.runToEnd("RECHECK");
    expect(run).toMatchObject({ status: "SUCCEEDED", orders_done: gaps!.n, failures: 0 });
    expect(run.orders_updated).toBeGreaterThan(0);
    expect(await openCodes(cleared)).toEqual([]);
    expect(await openCodes(left)).toEqual(["vat_code.unmapped"]);
    expect(await seen()).toEqual(before);
    const [order] = await world.sql("select warehouse from orders where erp_order_number = $1", [
      cleared,
    ]);
    expect(order).toEqual({ warehouse: "SHOP" });
  });

  test("settles orders that no longer exist in the ERP", async () => {
    const invoiced = withFault("shipping_method.unmapped");
    const deleted = withFault("currency.unmapped");
    await world.control(`DELETE salesOrders/${invoiced}?invoiced=true`);
    await world.control(`DELETE salesOrders/${deleted}`);
    await world.sql(
      "insert into erp_mapping_rules (code, key, target) values ('currency.unmapped', 'EURO', 'EUR')",
    );
    expect(await world.runToEnd("RECHECK")).toMatchObject({
      status: "SUCCEEDED",
      orders_missing: 2,
    });
    const rows = await world.sql(
      "select erp_order_number as number, status, currency, shipping_method from orders where erp_order_number = any ($1) order by 1",
      [[invoiced, deleted]],
    );
    expect(rows).toEqual(
      [
        {
          number: invoiced,
          status: "INVOICED",
          currency: expect.any(String),
          shipping_method: null,
        },
        {
          number: deleted,
          status: "CANCELLED",
          currency: "EUR",
          shipping_method: expect.any(String),
        },
      ].toSorted((a, b) => (a.number < b.number ? -1 : 1)),
    );
    expect(await openCodes(deleted)).toEqual([]);
  });

  test("of data issues sees changes in related ERP records of an unchanged order", async () => {
    const number = withFault("product.missing");
    const [issue] = await world.sql<{ key: string }>(
      `select i.key from order_import_issues i join orders o on o.id = i.order_id where o.erp_order_number = $1`,
      [number],
    );
    expect(issue!.key).toMatch(/^W-GONE/);
    await world.sql("insert into products (erp_product_number, name) values ($1, 'Found again')", [
      issue!.key,
    ]);
    await world.runToEnd("DATA_RECHECK");
    expect(await openCodes(number)).toEqual([]);
  });
});

describe("a single order", () => {
  test("is imported by its number, known or not, and reported when it does not exist", async () => {
    const { numbers: added } = await world.control("POST salesOrders", {});
    expect(await world.runToEnd("ORDER", added[0])).toMatchObject({
      status: "SUCCEEDED",
      orders_created: 1,
    });
    expect(await world.runToEnd("ORDER", added[0])).toMatchObject({ orders_unchanged: 1 });
    expect(await world.runToEnd("ORDER", "NOWHERE")).toMatchObject({
      status: "SUCCEEDED",
      orders_done: 1,
      orders_missing: 1,
    });
  });
});

describe("the schedule", () => {
  test("imports automatically, and only when due", async () => {
    await world.sql("update erp_schedule set next_at = null where what = 'import'");
    const imports = async () => {
      const rows = await world.sql<{ id: string }>(
        "select id from erp_sync_runs where kind = 'IMPORT' and requested_by_user_id is null order by queued_at",
      );
      return rows.map(({ id }) => id);
    };
    const tick = async () => {
      await world.sql("select enqueue_job('erp_schedule', '{}', 'test')");
      await waitFor("the tick", async () => {
        const left = await world.sql(
          "select from graphile_worker._private_jobs where key ~ 'erp_schedule:test$'",
        );
        return left.length === 0;
      });
    };
    const before = await imports();
    await tick();
    const after = await imports();
    expect(after).toHaveLength(before.length + 1);
    expect(await world.waitUntilEnded(after.at(-1)!)).toMatchObject({ status: "SUCCEEDED" });
    const [due] = await world.sql<{ minutes: number }>(
      "select ceil(extract(epoch from next_at - now()) / 60)::integer as minutes from erp_schedule where what = 'import'",
    );
    expect(due!.minutes).toBeLessThanOrEqual(5);
    await tick();
    expect((await imports()).length - after.length).toBeLessThanOrEqual(due!.minutes > 1 ? 0 : 1);
  });
});

describe("a run", () => {
  test("has no open transaction during ERP requests", async () => {
    await world.control("POST faults", { kind: "slow", ms: 1_500, set: "salesOrders" });
    const id = await world.queue("ORDER", numbers[0]);
    const asked = async () => {
      const { faults } = await world.control("GET ");
      return faults.length === 0;
    };
    await waitFor("the ERP to be asked", asked);
    const open = await world.sql(
      `select state, query from pg_stat_activity where datname = current_database()
       and application_name = 'office_worker' and state like 'idle in transaction%'
       and xact_start < clock_timestamp() - interval '300 ms'`,
    );
    expect(open).toEqual([]);
    expect(await world.run(id)).toMatchObject({ status: "RUNNING" });
    expect(await world.waitUntilEnded(id)).toMatchObject({ status: "SUCCEEDED" });
  });

  test("can be cancelled while it works, and the next one continues from there", async () => {
    await world.control("POST salesOrders", { count: 60 });
    await world.control("POST faults", { kind: "slow", ms: 1_500, set: "salesOrders", after: 1 });
    const before = (await storedOrders(world)).length;
    const id = await world.queue("IMPORT");
    await waitFor("a page", async () => (await world.run(id)).orders_done > 0);
    await world.sql("update erp_sync_runs set status = 'CANCELLED' where id = $1", [id]);
    await waitFor("the job to end", async () => {
      const jobs = await world.sql(
        "select id from graphile_worker._private_jobs where payload -> 'input' ->> 'runId' = $1",
        [id],
      );
      return jobs.length === 0;
    });
    const partly = (await storedOrders(world)).length;
    expect(partly).toBeGreaterThan(before);
    expect(partly).toBeLessThan(before + 60);
    expect(await world.run(id)).toMatchObject({ status: "CANCELLED" });
    await world.runToEnd("IMPORT");
    expect(await storedOrders(world)).toHaveLength(before + 60);
  });

  test("of an isolated test run works in the run's tenant", async () => {
    const tenant = "backoffice_e2e_erp";
    const client = await world.database.pool.connect();
    await migrateTenant(client, tenant);
    client.release();
    const before = await versions();
    const [run] = await world.sql<{ id: string }>(
      `select (${tenant}.queue_erp_run('ORDER', $1)).id`,
      [numbers[0]],
    );
    await waitFor("the run in the tenant", async () => {
      const [row] = await world.sql(`select status from ${tenant}.erp_sync_runs where id = $1`, [
        run!.id,
      ]);
      return row?.["status"] === "SUCCEEDED";
    });
    const rows = await world.sql(`select erp_order_number as n from ${tenant}.orders`);
    expect(rows).toEqual([{ n: numbers[0] }]);
    expect(await versions()).toEqual(before);
  });

  test("of an isolated test run stops when the run is cleaned up", async () => {
    const tenant = "backoffice_e2e_stopped";
    const client = await world.database.pool.connect();
    await migrateTenant(client, tenant);
    client.release();
    // Each page is slow, so the whole import would take long.
    await world.control("POST faults", { kind: "slow", ms: 700, times: 1_000 });
    const [run] = await world.sql<{ id: string }>(`select (${tenant}.queue_erp_run('IMPORT')).id`);
    const stateOf = async () =>
      (await world.sql(`select status from ${tenant}.erp_sync_runs where id = $1`, [run!.id]))[0];
    await waitFor("the run to begin", async () => (await stateOf())?.["status"] === "RUNNING");
    const drop = async () =>
      (await world.sql<{ gone: boolean }>("select drop_tenant($1) as gone", [tenant]))[0]!.gone;
    expect(await drop()).toBe(false);
    expect(await stateOf()).toEqual({ status: "CANCELLED" });
    await waitFor("the tenant to go", drop);
    await world.control("DELETE faults");
  });
});
