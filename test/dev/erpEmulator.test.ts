import { afterEach, describe, expect, test } from "@jest/globals";
import { startErpEmulator } from "../../dev/emulators/erpEmulator.ts";
import type { ErpOrder } from "../../src/gateways/erp.ts";
import type { Harness } from "../helpers/gateways/erpHarness.ts";
import { orderNumber, startHarness, walkOrders } from "../helpers/gateways/erpHarness.ts";

let harness: Harness;
afterEach(() => harness.stop());

/** Sends a GET to the API as OData clients do, with a token. */
async function get(path: string, headers: Record<string, string> = {}) {
  const { ERP_TOKEN_URL, ERP_CLIENT_ID, ERP_CLIENT_SECRET } = harness.env;
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: ERP_CLIENT_ID ?? "",
    client_secret: ERP_CLIENT_SECRET ?? "",
    scope: "https://erp.example/.default",
  });
  const answer = await fetch(ERP_TOKEN_URL ?? "", { method: "POST", body: form });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  const response = await fetch(address(path), {
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

function address(path: string): string {
  const { ERP_BASE_URL, ERP_TENANT_ID, ERP_ENVIRONMENT, ERP_COMPANY_ID } = harness.env;
  const place = `${ERP_TENANT_ID ?? ""}/${ERP_ENVIRONMENT ?? ""}/api/v2.0`;
  return `${ERP_BASE_URL ?? ""}/${place}/companies(${ERP_COMPANY_ID ?? ""})/${path}`;
}

test("the same seed creates the same orders, and another seed different ones", async () => {
  const read = async (seed: string) => {
    harness = await startHarness({ seed, orders: 60 });
    const { orders } = await walkOrders(harness.erp);
    await harness.stop();
    return orders;
  };
  const first = await read("one");
  expect(await read("one")).toEqual(first);
  expect(await read("two")).not.toEqual(first);
});

test("the orders contain each fault once, and most have none", async () => {
  harness = await startHarness({ orders: 240, faultEvery: 20 });
  const { orders } = await walkOrders(harness.erp);
  const at = (place: number) => orders.find(({ number }) => number === orderNumber(place))!;
  const faulty = (kind: number) => at(kind * 20 + 19);
  const firstLine = (order: ErpOrder) => order.lines[0]!;
  const missing = await harness.erp.itemsByNumbers([firstLine(faulty(0)).itemNumber ?? ""]);
  expect(missing.missing).toHaveLength(1);
  const unknown = await harness.erp.customersByNumbers([faulty(1).customerNumber ?? ""]);
  expect(unknown.missing).toHaveLength(1);
  expect(firstLine(faulty(2)).unitPrice).toBe("0");
  expect(faulty(3).deliveryAddress).toMatchObject({ city: null, postalCode: null });
  expect(firstLine(faulty(4)).quantity).toBe("0");
  expect(firstLine(faulty(5)).productGroup).toBe("NOLO");
  expect(faulty(6).paymentMethodCode).toBe("GIFTCERT");
  expect(faulty(7).shipmentMethodCode).toBe("BIKE");
  expect(firstLine(faulty(8)).vatCode).toBe("MOMS12");
  expect(faulty(9).currencyCode).toBe("EURO");
  expect(firstLine(faulty(10)).locationCode).toBe("POPUP");
  const replaced = orders.find(({ number }) => number === faulty(11).customerReference);
  expect(replaced?.number).toBe(orderNumber(11 * 20 + 18));
  expect(replaced?.customerNumber).toBe(faulty(11).customerNumber);

  const gaps = ["NOLO", "GIFTCERT", "BIKE", "MOMS12", "EURO", "POPUP", null];
  const healthy = orders.filter(({ number }) => Number(number.slice("S-ORD".length)) % 20 !== 0);
  expect(new Set(healthy.map(({ number }) => number)).size).toBe(228);
  for (const order of healthy) {
    const codes = [order.paymentMethodCode, order.shipmentMethodCode, order.currencyCode];
    const goods = order.lines.filter(({ type }) => type === "ITEM");
    for (const { productGroup, vatCode, locationCode } of goods)
      codes.push(productGroup, vatCode, locationCode);
    expect(codes.filter((code) => gaps.includes(code))).toEqual([]);
  }
});

test("an order can be added with a fault and corrected, and both versions are served", async () => {
  harness = await startHarness({ orders: 10 });
  const before = await walkOrders(harness.erp);
  const { numbers } = await harness.control("POST", "salesOrders", {
    fault: "shipping_method.unmapped",
    properties: { externalDocumentNumber: "by hand" },
  });
  const [number = ""] = numbers as string[];
  const added = await walkOrders(harness.erp, before.cursor);
  expect(added.orders.find((order) => order.number === number)).toMatchObject({
    shipmentMethodCode: "BIKE",
    customerReference: "by hand",
  });
  await harness.control("POST", `salesOrders/${number}/repair`);
  const repaired = await walkOrders(harness.erp, added.cursor);
  const last = repaired.orders.findLast((order) => order.number === number);
  expect(last?.shipmentMethodCode).not.toBe("BIKE");
});

describe("like Business Central, it", () => {
  const code = ({ body }: { body: Record<string, unknown> }) =>
    (body["error"] as { code: string } | undefined)?.code;

  test("refuses a request without a token", async () => {
    harness = await startHarness();
    const response = await fetch(address("salesOrders"));
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      error: { code: "Authentication_InvalidCredentials" },
    });
  });

  test.each([
    "number eq 'A' or customerNumber eq 'B'",
    "contains(number,'A')",
    "number eq",
    "number eq A",
    "number eq 'A' and",
    "(number eq 'A'",
    "number eq 'A')",
    "number = 'A'",
    "number eq 'A",
    "not (number eq 'A')",
    "colour eq 'red'",
  ])("refuses the filter %s", async (filter) => {
    harness = await startHarness();
    const answer = await get(`salesOrders?$filter=${encodeURIComponent(filter)}`);
    expect(answer.status).toBe(400);
    expect(code(answer)).toMatch(/^BadRequest/);
  });

  test.each([
    "salesOrders?$select=colour",
    "salesOrders?$orderby=colour",
    "salesOrders?$expand=colour",
    "salesOrders?$expand=salesOrderLines($select=colour)",
    "items?$expand=salesOrderLines",
    "salesOrders?$skip=1",
    "salesOrders?$top=many",
  ])("refuses %s", async (path) => {
    harness = await startHarness();
    expect((await get(path)).status).toBe(400);
  });

  test("rejects unknown sets and companies", async () => {
    harness = await startHarness();
    expect(code(await get("colours"))).toBe("BadRequest_ResourceNotFound");
    expect((await get("../companies(00000000-0000-0000-0000-000000000001)/items")).status).toBe(
      404,
    );
  });

  test("returns pages of the requested size, each with a link to the next", async () => {
    harness = await startHarness({ orders: 25 });
    const numbers: unknown[] = [];
    let path = "salesOrders?$orderby=number&$select=number";
    for (let pages = 0; path !== "" && pages < 10; pages++) {
      const { body } = await get(path, { prefer: "odata.maxpagesize=10" });
      const value = body["value"] as { number: string }[];
      expect(value.length).toBeLessThanOrEqual(10);
      numbers.push(...value.map(({ number }) => number));
      const link = body["@odata.nextLink"];
      path = typeof link === "string" ? link.replace(address(""), "") : "";
    }
    expect(numbers).toEqual(Array.from({ length: 25 }, (_, index) => orderNumber(index)));
  });

  test("compares times by instant and numbers case-insensitively", async () => {
    harness = await startHarness({ orders: 5 });
    const count = async (filter: string) =>
      ((await get(`salesOrders?$filter=${encodeURIComponent(filter)}`)).body["value"] as unknown[])
        .length;
    const at = "2026-01-02T03:04:05.5Z";
    await harness.control("POST", "salesOrders/touch", { numbers: [orderNumber(2)], at });
    expect(await count("lastModifiedDateTime ge 2026-01-02T04:04:05.500+01:00")).toBe(1);
    expect(await count("lastModifiedDateTime gt 2026-01-02T03:04:05.500Z")).toBe(0);
    expect(await count("lastModifiedDateTime lt 2026-01-02T03:04:05.500Z")).toBe(4);
    expect(await count("number gt 's-ord100003'")).toBe(2);
    expect(await count("number gt 'S-ORD100001' and number le 'S-ORD100003'")).toBe(2);
    expect(await count("number eq 'it''s' or number eq 'S-ORD100001'")).toBe(1);
  });
});

describe("its control", () => {
  test("rejects requests from a page in a browser", async () => {
    harness = await startHarness();
    const { ERP_BASE_URL = "" } = harness.env;
    const faults = `${new URL(ERP_BASE_URL).origin}/_emulator/faults`;
    const body = JSON.stringify({ kind: "drop" });
    const form = await fetch(faults, { method: "POST", body });
    expect(form.status).toBe(415);
    expect((await harness.control("GET", ""))["faults"]).toEqual([]);
  });

  test.each([
    [{ kind: "earthquake" }],
    [{ kind: "slow" }],
    [{ kind: "drop", times: 0 }],
    [{ kind: "drop", colour: "red" }],
  ])("refuses the fault %j", async (fault) => {
    harness = await startHarness();
    await expect(harness.fault(fault)).rejects.toThrow("BadRequest");
  });

  test("rejects unknown paths with a reason", async () => {
    harness = await startHarness();
    await expect(harness.control("GET", "colours")).rejects.toThrow("NotFound");
    await expect(harness.control("PATCH", "items/nothing", {})).rejects.toThrow("NotFound");
    await expect(harness.control("DELETE", "salesOrders/nothing")).rejects.toThrow("NotFound");
    await expect(harness.control("POST", "salesOrders", { fault: "x" })).rejects.toThrow();
  });
});

test("reports a port that is in use", async () => {
  harness = await startHarness();
  const port = Number(new URL(harness.env["ERP_BASE_URL"] ?? "").port);
  await expect(startErpEmulator({ port, seed: "x", orders: 1 })).rejects.toThrow("EADDRINUSE");
});
