import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { HostileErp, ResponseOverride } from "../helpers/gateways/hostileErp.ts";
import { startHostileErp } from "../helpers/gateways/hostileErp.ts";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";
import type { ErpWorld } from "../helpers/workers/erpWorld.ts";
import { startErpWorld } from "../helpers/workers/erpWorld.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

// Which of two versions of a record is stored, and how records that cannot be read get out of the list.
let world: ErpWorld;
let hostile: HostileErp;
let service: Service;

beforeAll(async () => {
  world = await startErpWorld({ orders: 20, customers: 5 });
  hostile = await startHostileErp(world.env["ERP_BASE_URL"] ?? "");
  service = await startService({ database: world.database });
  const env = { ...world.env, ERP_BASE_URL: hostile.baseUrl };
  await startWorkerProcess(world.database.url, env, { constants: world.constants });
  // The schedule would add further imports.
  await world.sql("update erp_schedule set next_at = 'infinity'");
  await world.runToEnd("IMPORT");
});
afterAll(async () => {
  await endWorkers();
  await service?.stop();
  await hostile?.stop();
  await world?.stop();
});
afterEach(async () => {
  hostile.overrideResponses("salesOrders", null);
  await world.control("PUT clock", { skewMs: 0 });
});

interface StoredOrder {
  status: string;
  email: string | null;
}
const order = async (number: string) =>
  (
    await world.sql<StoredOrder>("select status, email from orders where erp_order_number = $1", [
      number,
    ])
  )[0];
const customer = async (number: string) =>
  (
    await world.sql<StoredOrder>("select email from customers where erp_customer_number = $1", [
      number,
    ])
  )[0];
const failures = async () =>
  (await world.sql<{ record: string }>("select record from erp_import_failures order by 1")).map(
    ({ record }) => record,
  );
const json = { "content-type": "application/json" };

describe("after the clock of the ERP was ahead and was corrected", () => {
  test("changes of orders and customers are imported", async () => {
    const [{ number } = { number: "" }] = await world.sql<{ number: string }>(
      "select erp_customer_number as number from customers order by 1 limit 1",
    );
    const change = async (email: string) => {
      await world.control("PATCH salesOrders/S-ORD100002", { email });
      await world.control(`PATCH customers/${number}`, { email });
      await world.runToEnd("IMPORT");
      return [(await order("S-ORD100002"))?.email, (await customer(number))?.email];
    };
    await world.control("PUT clock", { skewMs: 3_600_000 });
    expect(await change("ahead@example.com")).toEqual(Array(2).fill("ahead@example.com"));
    await world.control("PUT clock", { skewMs: 0 });
    expect(await change("right@example.com")).toEqual(Array(2).fill("right@example.com"));
  });

  test("products are synchronised", async () => {
    const { token } = await service.login(["products.create", "products.update", "products.read"]);
    const sync = async (name: string, sourceUpdatedAt: string) => {
      const { data } = await service.ask(
        `mutation ($input: SyncProductsInput!) { syncProducts(input: $input) { results { status } } }`,
        {
          token,
          variables: {
            input: {
              products: [{ erpProductNumber: "CLOCK-1", fields: { name }, sourceUpdatedAt }],
            },
          },
        },
      );
      return data.syncProducts.results[0].status as string;
    };
    expect(await sync("Ahead", "2999-01-01T00:00:00Z")).toBe("CREATED");
    expect(await sync("Right", "2026-01-02T00:00:00Z")).toBe("UPDATED");
    expect(await sync("Older", "2026-01-01T00:00:00Z")).toBe("STALE");
  });
});

test("an order that was invoiced stays so when an import writes an older page", async () => {
  const number = "S-ORD100007";
  const held = Promise.withResolvers<undefined>();
  const released = Promise.withResolvers<undefined>();
  const hold: ResponseOverride = (answer, response, request) => {
    const send = () => response.writeHead(200, json).end(JSON.stringify(answer));
    const isPage = !decodeURIComponent(request.url ?? "").includes("number eq");
    const contains = answer.value?.some(
      (row) => row["number"] === number && row["salesOrderLines"],
    );
    if (!isPage || contains !== true) {
      send();
      return;
    }
    held.resolve(undefined);
    void released.promise.then(send);
  };
  await world.control(`PATCH salesOrders/${number}`, { email: "before@example.com" });
  hostile.overrideResponses("salesOrders", hold);
  const id = await world.queue("IMPORT");
  await held.promise;
  await world.control(`DELETE salesOrders/${number}?invoiced=true`);
  await world.runToEnd("ORDER", number);
  expect((await order(number))?.status).toBe("INVOICED");
  released.resolve(undefined);
  await world.waitUntilEnded(id);
  expect((await order(number))?.status).toBe("INVOICED");
});

test("an order that is in the ERP again is no longer cancelled", async () => {
  const number = "S-ORD100008";
  hostile.overrideResponses("salesOrders", (answer, response) =>
    response.writeHead(200, json).end(JSON.stringify({ ...answer, value: [] })),
  );
  await world.runToEnd("ORDER", number);
  expect((await order(number))?.status).toBe("CANCELLED");
  hostile.overrideResponses("salesOrders", null);
  await world.runToEnd("ORDER", number);
  expect((await order(number))?.status).not.toBe("CANCELLED");
});

test("one empty response cancels no order", async () => {
  const before = await order("S-ORD100009");
  await world.control("POST faults", { kind: "empty", set: "salesOrders", times: 1 });
  await world.runToEnd("ORDER", "S-ORD100009");
  expect(await order("S-ORD100009")).toEqual(before);
});

describe("a record that cannot be read", () => {
  const tooLong = "x".repeat(300);

  test("leaves the list with the recheck of data when the ERP no longer has it", async () => {
    const [{ number } = { number: "" }] = await world.sql<{ number: string }>(
      "select erp_customer_number as number from customers order by 1 desc limit 1",
    );
    await world.control(`PATCH customers/${number}`, { email: tooLong });
    const made = await world.control("POST salesOrders", { properties: { email: tooLong } });
    const [unread] = made.numbers as string[];
    await world.runToEnd("IMPORT");
    expect(await failures()).toEqual([`customer ${number}`, `order ${unread}`]);
    await world.runToEnd("DATA_RECHECK");
    expect(await failures()).toEqual([`customer ${number}`, `order ${unread}`]);
    await world.control(`DELETE customers/${number}`);
    await world.control(`DELETE salesOrders/${unread}`);
    await world.runToEnd("DATA_RECHECK");
    expect(await failures()).toEqual([]);
  });

  test("is dismissed by holders of erpsync.run", async () => {
    const { numbers } = await world.control("POST salesOrders", { properties: { email: tooLong } });
    const [number = ""] = numbers as string[];
    await world.runToEnd("IMPORT");
    const list = `{ erpImportFailures { nodes { id record } } }`;
    const reader = await service.login(["erpsync.read"]);
    const [entry] = (await service.ask(list, { token: reader.token })).data.erpImportFailures.nodes;
    expect(entry.record).toBe(`order ${number}`);
    const dismiss = `mutation ($id: ID!) { dismissErpImportFailure(id: $id) }`;
    const variables = { id: entry.id as string };
    const refused = await service.ask(dismiss, { token: reader.token, variables });
    expect(refused.errors?.[0]?.message).toBe("Missing required permission: erpsync.run");
    const { token } = await service.login(["erpsync.run", "erpsync.read"]);
    const done = await service.ask(dismiss, { token, variables });
    expect(done.data).toEqual({ dismissErpImportFailure: true });
    expect(await failures()).toEqual([]);
    const again = await service.ask(dismiss, { token, variables });
    expect(again.errors?.[0]?.extensions.code).toBe("NOT_FOUND");
    await world.control(`DELETE salesOrders/${number}`);
  });
});

test("numbers with letters of any alphabet are imported", async () => {
  const { numbers } = await world.control("POST salesOrders", {});
  const [own = ""] = numbers as string[];
  const number = "SO-KØB-葡";
  hostile.overrideResponses("salesOrders", (answer, response) => {
    for (const row of answer.value ?? []) if (row["number"] === own) row["number"] = number;
    response.writeHead(200, json).end(JSON.stringify(answer));
  });
  await world.runToEnd("IMPORT");
  expect(await order(number)).toBeDefined();
  expect(await failures()).toEqual([]);
  await world.control(`DELETE salesOrders/${own}`);
});

test("counts a failed import until an import succeeds, whatever a run of one order does", async () => {
  const { token } = await service.login(["erpsync.read"]);
  const failed = async () =>
    (await service.ask(`{ syncStatus { failedRuns } }`, { token })).data.syncStatus.failedRuns;
  const { id } = (
    await world.sql<{ id: string }>(
      "insert into erp_sync_runs (kind, status, started_at, finished_at, error) values ('IMPORT', 'FAILED', now(), now(), 'down') returning id",
    )
  )[0]!;
  await world.runToEnd("ORDER", "S-ORD100003");
  expect(await failed()).toBe(1);
  await world.runToEnd("IMPORT");
  expect(await failed()).toBe(0);
  await world.sql("delete from erp_sync_runs where id = $1", [id]);
});
