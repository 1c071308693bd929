import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseJson, plainDecimal } from "../../src/gateways/erp/json.ts";
import { readRetryAfter } from "../../src/gateways/retryAfter.ts";
import type { Harness } from "../helpers/gateways/erpHarness.ts";
import { orderNumber, startHarness, walkOrders } from "../helpers/gateways/erpHarness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ orders: 300 });
});
afterAll(() => harness.stop());

const patch = (number: string, properties: Record<string, unknown>) =>
  harness.control("PATCH", `salesOrders/${number}`, properties);
async function orderOf(number: string) {
  const { records, unreadable } = await harness.erp.ordersByNumbers([number]);
  expect(unreadable).toEqual([]);
  expect(records).toHaveLength(1);
  return records[0]!;
}

describe("an order", () => {
  test("has lines, codes and amounts", async () => {
    const number = orderNumber(0);
    await patch(number, {
      externalDocumentNumber: " PO 7 ",
      orderDate: "2026-02-28",
      requestedDeliveryDate: "0001-01-01",
      customerNumber: "10001",
      currencyCode: "EUR",
      shipToName: "Bistro Ø",
      shipToCity: "",
      totalAmountExcludingTax: 100.1,
      "salesOrderLines[0].quantity": 2.5,
      "salesOrderLines[0].unitPrice": 1e3,
      "salesOrderLines[0].description": "Barolo",
      "salesOrderLines[0].description2": "0,75 l",
      "salesOrderLines[0].lineObjectNumber": "000003",
    });
    const order = await orderOf(number);
    expect(order).toMatchObject({
      number,
      customerReference: "PO 7",
      orderDate: "2026-02-28",
      requestedDeliveryDate: null,
      customerNumber: "10001",
      currencyCode: "EUR",
      netAmount: "100.1",
      deliveryAddress: { name: "Bistro Ø", city: null },
    });
    const { records } = await harness.erp.customersByNumbers(["10001"]);
    expect(order.paymentMethodCode).toBe(records[0]?.paymentMethodCode);
    expect(["BANK", "CARD", "INVOICE", "MOBILEPAY"]).toContain(order.paymentMethodCode);
    expect(["GLS", "POSTNORD", "PALLET", "PICKUP"]).toContain(order.shipmentMethodCode);
    const [line] = order.lines;
    const { records: items } = await harness.erp.itemsByNumbers(["000003"]);
    expect(line).toMatchObject({
      lineNumber: 10_000,
      type: "ITEM",
      itemNumber: "000003",
      productGroup: items[0]?.categoryCode,
      description: "Barolo 0,75 l",
      quantity: "2.5",
      unitPrice: "1000",
    });
    expect(["MAIN", "BOND", "SHOP"]).toContain(line?.locationCode);
  });

  test("keeps its revision exactly while it is unchanged", async () => {
    const number = orderNumber(1);
    const before = await orderOf(number);
    expect((await orderOf(number)).revision).toBe(before.revision);
    await patch(number, { "salesOrderLines[0].description": "other" });
    const after = await orderOf(number);
    expect(after.revision).not.toBe(before.revision);
    // The item's category is stored outside the order.
    const item = after.lines[0]?.itemNumber ?? "";
    await harness.control("PATCH", `items/${item}`, { itemCategoryCode: "MEAD" });
    const later = await orderOf(number);
    expect(later.lines[0]?.productGroup).toBe("MEAD");
    expect(later.revision).not.toBe(after.revision);
  });

  test.each([
    [{ status: "Draft" }, "DRAFT"],
    [{ status: "In_x0020_Review" }, "IN_REVIEW"],
    [{ status: "In Review" }, "IN_REVIEW"],
    [{ status: "Open" }, "OPEN"],
    [{ status: "Open", fullyShipped: true }, "OPEN"],
    [{ "salesOrderLines[0].shippedQuantity": 1 }, "PARTLY_SHIPPED"],
    [{ "salesOrderLines[0].shippedQuantity": 1, fullyShipped: true }, "SHIPPED"],
    [{ "salesOrderLines[0].shippedQuantity": 2 }, "SHIPPED"],
    [
      { "salesOrderLines[0].shippedQuantity": 2, "salesOrderLines[0].invoicedQuantity": 2 },
      "INVOICED",
    ],
  ])("%j is %s", async (properties, status) => {
    const number = orderNumber(2);
    const { salesOrderLines } = await harness.control("GET", `salesOrders/${number}`);
    const [line] = salesOrderLines as Record<string, unknown>[];
    const bare = { ...line, quantity: 2, shippedQuantity: 0, invoicedQuantity: 0 };
    const reset = { status: "Open", fullyShipped: false, salesOrderLines: [bare] };
    await patch(number, { ...reset, ...properties });
    expect((await orderOf(number)).status).toBe(status);
  });

  test.each([
    ["Account", "6610", { type: "ACCOUNT", productGroup: "Account 6610", itemNumber: null }],
    ["Charge", "FREIGHT", { type: "CHARGE", productGroup: "Charge FREIGHT" }],
    ["Charge_x0020__x0028_Item_x0029_", "FREIGHT", { productGroup: "Charge FREIGHT" }],
    ["Fixed_x0020_Asset", "FA1", { type: "FIXED_ASSET", productGroup: "Fixed Asset FA1" }],
    ["Comment", "", { type: "COMMENT", productGroup: "Comment", objectNumber: null }],
    ["Voucher", "V", { type: "OTHER", productGroup: "Voucher V" }],
    ["Item", "UNKNOWN", { type: "ITEM", productGroup: null, itemNumber: "UNKNOWN" }],
  ])("has lines of type %s", async (lineType, lineObjectNumber, expected) => {
    const number = orderNumber(4);
    await patch(number, {
      "salesOrderLines[0].lineType": lineType,
      "salesOrderLines[0].lineObjectNumber": lineObjectNumber,
    });
    expect((await orderOf(number)).lines[0]).toMatchObject(expected);
  });

  test("contains the id of an unresolved reference", async () => {
    const id = "0123abcd-0123-4567-89ab-0123456789ab";
    await patch(orderNumber(5), { shipmentMethodId: id, "salesOrderLines[0].locationId": id });
    const order = await orderOf(orderNumber(5));
    expect(order.shipmentMethodCode).toBe(id);
    expect(order.lines[0]?.locationCode).toBe(id);
  });
});

describe("an unreadable order", () => {
  test.each([
    ["status", "Lost", "must be Draft, In Review or Open"],
    ["salesOrderLines", "none", "must be a list of lines"],
    ["salesOrderLines[0].quantity", "many", "must be a number of 40 digits at most"],
    ["salesOrderLines[0].unitPrice", true, "must be a number"],
    ["salesOrderLines[0].sequence", "x", "must be a whole number"],
    ["salesOrderLines[0].description", "a\0b", "contains invalid characters"],
    ["salesOrderLines[0].description", "\ud800", "contains invalid characters"],
    ["salesOrderLines[0].lineType", "_x0000_Item", "contains invalid characters"],
    ["salesOrderLines[0].lineType", "It_xd800_em", "contains invalid characters"],
    ["orderDate", "2026-02-30", "must be a date such as 2026-01-31"],
    ["customerName", 12, "must be a string"],
    ["shipmentMethodId", "x", "must be an id"],
    ["lastModifiedDateTime", "yesterday", "must be a time such as 2026-01-31T12:00:00Z"],
  ])("with %s is reported, and the others are read", async (path, value, message) => {
    const { numbers } = await harness.control("POST", "salesOrders", { count: 3 });
    const [good, bad, other] = numbers as [string, string, string];
    await patch(bad, { [path]: value });
    const walk = await walkOrders(harness.erp);
    const read = walk.orders.map(({ number }) => number);
    expect(read).toEqual(expect.arrayContaining([good, other]));
    expect(read).not.toContain(bad);
    expect(walk.unreadable).toEqual([
      { number: bad, id: expect.any(String), revision: expect.any(String), path, message },
    ]);
    const asked = await harness.erp.ordersByNumbers([good, bad, other]);
    expect(asked.unreadable.map(({ number }) => number)).toEqual([bad]);
    expect(asked.records).toHaveLength(2);
    expect(asked.missing).toEqual([]);
    await harness.control("DELETE", `salesOrders/${bad}`);
  });

  test("with two lines of the same number is reported", async () => {
    const { numbers } = await harness.control("POST", "salesOrders", {});
    const [bad = ""] = numbers as string[];
    const { salesOrderLines } = await harness.control("GET", `salesOrders/${bad}`);
    const [line] = salesOrderLines as unknown[];
    await patch(bad, { salesOrderLines: [line, line] });
    const { unreadable } = await harness.erp.ordersByNumbers([bad]);
    expect(unreadable).toMatchObject([{ number: bad, path: "salesOrderLines[1].sequence" }]);
    await harness.control("DELETE", `salesOrders/${bad}`);
  });
});

describe("records by number", () => {
  test("are read in batches, each once, and missing ones are listed", async () => {
    const wanted = Array.from({ length: 170 }, (_, index) => orderNumber(index + 100));
    const absent = ["S-ORD999999", "it's", "s-ord100100"];
    // Not asked for, so not known to be missing.
    const unaskable = ["a".repeat(21), "x\ny", ""];
    const { records, missing, invoiced } = await harness.erp.ordersByNumbers([
      ...wanted,
      ...wanted,
      ...absent,
      ...unaskable,
    ]);
    expect(records.map(({ number }) => number).toSorted()).toEqual(wanted);
    expect(missing).toEqual(absent);
    expect(invoiced).toEqual([]);
  });

  test("are missing when two responses agree", async () => {
    const { numbers } = await harness.control("POST", "salesOrders", { count: 2 });
    const wanted = numbers as string[];
    await harness.fault({ kind: "empty", set: "salesOrders", times: 1 });
    const once = await harness.erp.ordersByNumbers(wanted);
    expect([once.missing, once.records.length]).toEqual([[], 2]);
    await harness.fault({ kind: "empty", set: "salesOrders", times: 2 });
    const twice = await harness.erp.ordersByNumbers(wanted);
    expect([twice.missing, twice.records.length]).toEqual([wanted, 0]);
    for (const number of wanted) await harness.control("DELETE", `salesOrders/${number}`);
  });

  test("distinguish invoiced orders from deleted ones", async () => {
    const { numbers } = await harness.control("POST", "salesOrders", { count: 2 });
    const [invoiced = "", deleted = ""] = numbers as string[];
    await harness.control("DELETE", `salesOrders/${invoiced}?invoiced=true`);
    await harness.control("DELETE", `salesOrders/${deleted}`);
    const found = await harness.erp.ordersByNumbers([invoiced, deleted]);
    expect(found).toEqual({
      ...{ records: [], unreadable: [] },
      ...{ missing: [invoiced, deleted], invoiced: [invoiced] },
    });
  });

  test("send no request for an empty list", async () => {
    const { requests } = await harness.control("GET", "");
    expect(await harness.erp.customersByNumbers([])).toEqual({
      ...{ records: [], unreadable: [], missing: [] },
    });
    expect((await harness.control("GET", ""))["requests"]).toBe(requests);
  });

  test("keep leading zeros, for customers and items", async () => {
    const customers = await harness.erp.customersByNumbers(["000003", "3"]);
    expect(customers.records.map(({ number }) => number)).toEqual(["000003"]);
    expect(customers.missing).toEqual(["3"]);
    const items = await harness.erp.itemsByNumbers(["000003", "3"]);
    expect(items.records.map(({ number }) => number)).toEqual(["000003"]);
  });
});

test("a customer without credit limit has null, and a blank block is NO", async () => {
  await harness.control("PATCH", "customers/10002", { creditLimit: 0, blocked: "_x0020_" });
  await harness.control("PATCH", "customers/10004", { creditLimit: 12.5, blocked: "Ship" });
  const { records } = await harness.erp.customersByNumbers(["10002", "10004"]);
  expect(records.find(({ number }) => number === "10002")).toMatchObject({
    creditLimit: null,
    blocked: "NO",
  });
  expect(records.find(({ number }) => number === "10004")).toMatchObject({
    creditLimit: "12.5",
    blocked: "SHIP",
  });
});

describe("decimals", () => {
  test.each([
    ["0", "0"],
    ["-0.00", "0.00"],
    ["12.50", "12.50"],
    ["9007199254740993.01", "9007199254740993.01"],
    ["1e3", "1000"],
    ["1.5E+1", "15"],
    ["-12.34e-3", "-0.01234"],
    ["1e41", null],
    ["NaN", null],
    ["1,5", null],
    ["", null],
  ])("%s is %s", (source, plain) => expect(plainDecimal(source)).toBe(plain));

  test("keep all digits of the ERP's JSON", () => {
    expect(parseJson('{"a":[1.10,12345678901234567890.123]}')).toMatchObject({
      a: [{ source: "1.10" }, { source: "12345678901234567890.123" }],
    });
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  test.each([
    ["120", 120_000],
    ["0", 0],
    ["Thu, 01 Jan 2026 00:01:00 GMT", 60_000],
    ["Wed, 31 Dec 2025 00:01:00 GMT", 0],
    ["-1", null],
    ["1.5", null],
    ["soon", null],
    ["2026-01-01", null],
    [null, null],
  ])("%j requests a delay of %j ms", (header, ms) => expect(readRetryAfter(header, now)).toBe(ms));
});
