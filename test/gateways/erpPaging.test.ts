import { afterEach, describe, expect, test } from "@jest/globals";
import { ErpAnswerError, ErpCursorError } from "../../src/gateways/erp.ts";
import type { Harness } from "../helpers/gateways/erpHarness.ts";
import {
  numbersOf,
  orderNumber,
  startHarness,
  walkOrders,
} from "../helpers/gateways/erpHarness.ts";

let harness: Harness;
afterEach(() => harness.stop());

const all = (count: number) => Array.from({ length: count }, (_, index) => orderNumber(index));

test("a run reads every order, and the next one only new ones", async () => {
  harness = await startHarness({ orders: 450 }, { pageSize: 100, lateMs: 1_000 });
  const first = await walkOrders(harness.erp);
  expect(numbersOf(first.orders)).toEqual(all(450));
  expect(first.pages).toBeGreaterThan(4);

  const { numbers } = await harness.control("POST", "salesOrders", { count: 2 });
  const second = await walkOrders(harness.erp, first.cursor);
  expect(numbersOf(second.orders)).toEqual(expect.arrayContaining(numbers as string[]));
  expect(second.orders.length).toBeLessThan(10);
});

test("reads ten thousand orders in their last state while some change at every page", async () => {
  harness = await startHarness({ orders: 10_000, faultEvery: 0 }, { pageSize: 500 });
  await harness.fault({ kind: "change", times: 1_000, set: "salesOrders", records: 40 });
  const first = await walkOrders(harness.erp);
  await harness.control("DELETE", "faults");
  const second = await walkOrders(harness.erp, first.cursor);

  const read = new Map([...first.orders, ...second.orders].map((order) => [order.number, order]));
  expect([...read.keys()].toSorted()).toEqual(all(10_000));
  // Some orders changed before their page was read and moved behind the end of the first run.
  expect(numbersOf(first.orders).length).toBeLessThan(10_000);
  const { records } = await harness.erp.ordersByNumbers(all(10_000).slice(0, 1_500));
  expect(records).toHaveLength(1_500);
  for (const order of records) expect(read.get(order.number)?.revision).toBe(order.revision);
});

test("pages more orders with the same timestamp than fit in a page by number", async () => {
  harness = await startHarness({ orders: 120, faultEvery: 0 }, { pageSize: 10 });
  const at = "2026-01-02T03:04:05.678Z";
  await harness.control("POST", "salesOrders/touch", { count: 120, at });
  await harness.control("POST", "salesOrders/touch", { numbers: [orderNumber(7)] });
  const walk = await walkOrders(harness.erp);
  expect(numbersOf(walk.orders)).toEqual(all(120));
  expect(walk.pages).toBeLessThan(20);
});

test("a run continues from any of its cursors, in another process too", async () => {
  harness = await startHarness({ orders: 90 }, { pageSize: 20 });
  const cursors: string[] = [];
  const whole = await walkOrders(harness.erp, null, ({ cursor }) => void cursors.push(cursor));
  expect(cursors.length).toBeGreaterThan(3);
  const before: string[] = [];
  for (const [index, cursor] of cursors.entries()) {
    expect(cursor.length).toBeLessThan(2_000);
    before.push(...all(90).slice(index * 19, (index + 1) * 20));
    const rest = await walkOrders(harness.client({}, { pageSize: 33 }), cursor);
    expect(numbersOf([...rest.orders, ...before.map((number) => ({ number }))])).toEqual(all(90));
    expect(rest.orders.length).toBeLessThan(90);
  }
  expect(numbersOf(whole.orders)).toEqual(all(90));
});

test("a change that becomes visible late is read by the next run", async () => {
  harness = await startHarness({ orders: 30 }, { lateMs: 300_000 });
  await harness.control("POST", "salesOrders/touch", { numbers: [orderNumber(1)] });
  const first = await walkOrders(harness.erp);
  // Committed now with a timestamp four minutes ago, before the newest change of the first run.
  const at = new Date(Date.now() - 240_000).toISOString();
  await harness.control("POST", "salesOrders/touch", { numbers: [orderNumber(20)], at });
  const second = await walkOrders(harness.erp, first.cursor);
  expect(numbersOf(second.orders)).toContain(orderNumber(20));
});

test("unchanged orders are no longer repeated once no late change is possible", async () => {
  harness = await startHarness({ orders: 60, faultEvery: 0 }, { pageSize: 25, lateMs: 1_000 });
  await harness.control("POST", "salesOrders/touch", { count: 60, at: "2026-03-01T00:00:00Z" });
  let { cursor, orders } = await walkOrders(harness.erp);
  expect(numbersOf(orders)).toEqual(all(60));
  const deadline = Date.now() + 15_000;
  while (orders.length > 0 && Date.now() < deadline)
    ({ cursor, orders } = await walkOrders(harness.erp, cursor));
  expect(orders).toEqual([]);
  await harness.control("POST", "salesOrders/touch", { numbers: [orderNumber(5)] });
  expect(numbersOf((await walkOrders(harness.erp, cursor)).orders)).toEqual([orderNumber(5)]);
});

test.each([-6, 6])("a clock of the ERP that is %d hours off loses nothing", async (hours) => {
  harness = await startHarness({ orders: 40 }, { pageSize: 15 });
  await harness.control("PUT", "clock", { skewMs: hours * 3_600_000 });
  const first = await walkOrders(harness.erp);
  expect(numbersOf(first.orders)).toEqual(all(40));
  const { numbers } = await harness.control("POST", "salesOrders", { count: 3 });
  const second = await walkOrders(harness.erp, first.cursor);
  expect(numbersOf(second.orders)).toEqual(expect.arrayContaining(numbers as string[]));
});

test("reads an empty ERP at once, and its first order later", async () => {
  harness = await startHarness({ orders: 0 });
  const first = await walkOrders(harness.erp);
  expect(first).toMatchObject({ orders: [], pages: 1 });
  await harness.control("POST", "salesOrders", {});
  expect((await walkOrders(harness.erp, first.cursor)).orders).toHaveLength(1);
});

test("reads changed customers page by page", async () => {
  harness = await startHarness({ customers: 70 }, { pageSize: 30, lateMs: 1_000 });
  const numbers = new Set<string>();
  let cursor: string | null = null;
  for (let done = false; !done;) {
    const page = await harness.erp.changedCustomers(cursor);
    for (const { number } of page.records) numbers.add(number);
    ({ cursor, done } = page);
  }
  expect(numbers.size).toBe(70);
  await harness.control("PATCH", "customers/000003", { displayName: "Renamed" });
  const { records } = await harness.erp.changedCustomers(cursor);
  expect(records.find(({ number }) => number === "000003")?.name).toBe("Renamed");
});

describe("cursors", () => {
  test.each(["", "x", "e30", Buffer.from('{"v":2}').toString("base64url")])(
    "rejects the invalid cursor %j",
    async (cursor) => {
      harness = await startHarness({ orders: 1 });
      await expect(harness.erp.changedOrders(cursor)).rejects.toThrow(ErpCursorError);
    },
  );

  test("rejects a cursor of customers for orders", async () => {
    harness = await startHarness({ orders: 1 });
    const { cursor } = await harness.erp.changedCustomers(null);
    await expect(harness.erp.changedOrders(cursor)).rejects.toThrow(ErpCursorError);
  });
});

describe("faulty pages", () => {
  const settings = { pageSize: 10 };
  const pages = { set: "salesOrders", after: 1 };

  test.each([
    { kind: "duplicate", after: 0 },
    { kind: "duplicate", after: 1 },
    { kind: "duplicate", after: 7, times: 2 },
    { kind: "overlap", after: 1, records: 4 },
    { kind: "overlap", after: 3, records: 4, times: 6 },
  ])("loses nothing when the previous page or its end is repeated: %j", async (fault) => {
    harness = await startHarness({ orders: 95 }, settings);
    // The first response is for the newest order; as the first page it would end the run.
    await harness.fault({ set: "salesOrders", ...fault });
    expect(numbersOf((await walkOrders(harness.erp)).orders)).toEqual(all(95));
  });

  test("ends the run with an error when a page is repeated forever", async () => {
    harness = await startHarness({ orders: 95 }, settings);
    await harness.fault({ kind: "duplicate", ...pages, after: 3, times: 1_000 });
    await expect(walkOrders(harness.erp)).rejects.toThrow(ErpAnswerError);
  });

  test("rejects records out of order, because some could be skipped", async () => {
    harness = await startHarness({ orders: 95 }, settings);
    await harness.fault({ kind: "disorder", ...pages, times: 1_000 });
    await expect(walkOrders(harness.erp)).rejects.toThrow("contradict each other");
  });

  test("ends with an error when a list links to itself", async () => {
    harness = await startHarness({ orders: 5 });
    await harness.fault({ kind: "loop", set: "items", times: 1_000 });
    await expect(harness.erp.itemsByNumbers(["100001"])).rejects.toThrow("never end");
  });

  test.each([
    "https://example.com/v2.0/",
    "//example.com/v2.0/emulator",
    "http://127.0.0.1:1/v2.0/emulator/sandbox/api/v2.0/companies",
    "http://[",
    "javascript:alert(1)",
  ])("does not follow a link to %s", async (url) => {
    harness = await startHarness({ orders: 5 });
    await harness.fault({ kind: "link", set: "items", url });
    await expect(harness.erp.itemsByNumbers(["100001"])).rejects.toThrow(
      "links to another address",
    );
  });

  test("does not follow a link to the same path at another host", async () => {
    harness = await startHarness({ orders: 5 });
    const { ERP_COMPANY_ID } = harness.env;
    const path = `/v2.0/emulator/sandbox/api/v2.0/companies(${ERP_COMPANY_ID ?? ""})/items`;
    await harness.fault({ kind: "link", set: "items", url: `http://127.0.0.1:1${path}` });
    await expect(harness.erp.itemsByNumbers(["100001"])).rejects.toThrow(ErpAnswerError);
  });

  test("does not follow a link to another set of the same ERP", async () => {
    harness = await startHarness({ orders: 5 });
    const { ERP_BASE_URL, ERP_COMPANY_ID } = harness.env;
    const url = `${ERP_BASE_URL ?? ""}/emulator/sandbox/api/v2.0/companies(${ERP_COMPANY_ID ?? ""})/customers`;
    await harness.fault({ kind: "link", set: "items", url });
    await expect(harness.erp.itemsByNumbers(["100001"])).rejects.toThrow(ErpAnswerError);
  });

  test("requests smaller pages when a page is too large", async () => {
    harness = await startHarness({ orders: 40 }, settings);
    await harness.fault({ kind: "pad", ...pages, times: 2, bytes: 33 * 1024 * 1024 });
    expect(numbersOf((await walkOrders(harness.erp)).orders)).toEqual(all(40));
  });
});
