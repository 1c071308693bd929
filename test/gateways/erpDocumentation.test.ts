import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { lineSelect, orderSelect } from "../../src/gateways/erp/orderRecord.ts";
import type { Harness } from "../helpers/gateways/erpHarness.ts";
import { orderNumber, startHarness, walkOrders } from "../helpers/gateways/erpHarness.ts";

// Names and types from Microsoft's published documentation of API v2.0; each set names its document.
const facts = z
  .record(
    z.string(),
    z.object({ document: z.string(), properties: z.record(z.string(), z.string()) }),
  )
  .parse(
    JSON.parse(
      readFileSync(new URL("../fixtures/gateways/erpFacts.json", import.meta.url), "utf8"),
    ),
  );

/** The JSON form of each documented type. */
const looks: Readonly<Record<string, z.ZodType>> = {
  GUID: z.guid(),
  string: z.string(),
  boolean: z.boolean(),
  decimal: z.number(),
  integer: z.int(),
  int64: z.int(),
  date: z.iso.date(),
  datetime: z.iso.datetime(),
  "NAV.salesOrderEntityBufferStatus": z.enum(["Draft", "In_x0020_Review", "Open"]),
  "NAV.invoiceLineAggLineType": z.enum(["Comment", "Account", "Item", "Resource", "Charge"]),
  "NAV.contactType": z.enum(["Company", "Person"]),
  "NAV.customerBlocked": z.enum(["_x0020_", "Ship", "Invoice", "All"]),
  "NAV.itemType": z.enum(["Inventory", "Service", "Non_x002D_Inventory"]),
  "NAV.invoiceEntityAggregateStatus": z.enum(["Draft", "In_x0020_Review", "Open", "Paid"]),
};

let harness: Harness;
let token: string;
beforeAll(async () => {
  harness = await startHarness({ orders: 300 });
  await harness.control("DELETE", `salesOrders/${orderNumber(3)}?invoiced=true`);
  const { ERP_TOKEN_URL, ERP_CLIENT_ID, ERP_CLIENT_SECRET } = harness.env;
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: ERP_CLIENT_ID ?? "",
    client_secret: ERP_CLIENT_SECRET ?? "",
    scope: "https://erp.example/.default",
  });
  const answer = await fetch(ERP_TOKEN_URL ?? "", { method: "POST", body: form });
  token = z.object({ access_token: z.string() }).parse(await answer.json()).access_token;
});
afterAll(() => harness.stop());

async function read(path: string): Promise<Record<string, unknown>[]> {
  const { ERP_BASE_URL, ERP_TENANT_ID, ERP_ENVIRONMENT, ERP_COMPANY_ID } = harness.env;
  const root = `${ERP_BASE_URL ?? ""}/${ERP_TENANT_ID ?? ""}/${ERP_ENVIRONMENT ?? ""}/api/v2.0/companies`;
  const url = path === "companies" ? root : `${root}(${ERP_COMPANY_ID ?? ""})/${path}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const page = z.object({ value: z.array(z.record(z.string(), z.unknown())) });
  return page.parse(await response.json()).value;
}

describe("the emulator's records have the documented properties and types", () => {
  test.each(Object.entries(facts).filter(([set]) => set !== "salesOrderLines"))(
    "%s",
    async (set, { properties }) => {
      const records = await read(set);
      expect(records.length).toBeGreaterThan(0);
      for (const record of records.slice(0, 300)) check(record, properties);
    },
  );

  test("salesOrderLines", async () => {
    const orders = await read("salesOrders?$expand=salesOrderLines");
    const lines = orders.flatMap((order) => order["salesOrderLines"] as Record<string, unknown>[]);
    expect(lines.length).toBeGreaterThan(300);
    for (const line of lines.slice(0, 300)) check(line, facts["salesOrderLines"]?.properties ?? {});
  });
});

function check(record: Record<string, unknown>, properties: Readonly<Record<string, string>>) {
  const { "@odata.etag": _etag, salesOrderLines: _lines, ...own } = record;
  // A stream appears as a link only.
  const documented = Object.entries(properties).filter(([, type]) => type !== "stream");
  expect(Object.keys(own).toSorted()).toEqual(documented.map(([name]) => name).toSorted());
  for (const [name, type] of documented) {
    const look = looks[type];
    if (look === undefined) throw new Error(`${name} is of the unknown type ${type}`);
    expect({ name, type, right: look.safeParse(own[name]).success }).toEqual({
      ...{ name, type },
      right: true,
    });
  }
}

test("every set and property that the client requests is documented", async () => {
  const { erp } = harness;
  await walkOrders(erp);
  await erp.ordersByNumbers([orderNumber(1), orderNumber(3)]);
  await erp.changedCustomers(null);
  await erp.customersByNumbers(["10001"]);
  await erp.itemsByNumbers(["100001"]);
  await erp.check();
  // An order without currency makes the client request the company's.
  await harness.control("PATCH", `salesOrders/${orderNumber(5)}`, { currencyCode: "" });
  const { records } = await erp.ordersByNumbers([orderNumber(5)]);
  expect(records[0]?.currencyCode).toBe("DKK");

  const seen = await harness.requests();
  const asked = seen.filter(
    ({ path, requestId }) => requestId !== null && path.includes("/companies("),
  );
  const sets = new Set<string>();
  for (const { path } of asked) {
    const url = new URL(path, "http://erp");
    const set = /\)\/(\w+)$/.exec(url.pathname)?.[1] ?? "companies";
    const { properties = {} } = facts[set] ?? {};
    sets.add(set);
    const select = url.searchParams.get("$select")?.split(",") ?? [];
    const order = url.searchParams.get("$orderby")?.replace(" desc", "").split(",") ?? [];
    const filter = [
      ...(url.searchParams.get("$filter") ?? "").matchAll(/(\w+) (?:eq|g[et]|l[et]) /g),
    ].map(([, name = ""]) => name);
    const unknown = [...select, ...order, ...filter].filter(
      (name) => !Object.hasOwn(properties, name),
    );
    expect({ set, unknown }).toEqual({ set, unknown: [] });
  }
  expect([...sets].toSorted()).toEqual([
    ...["companies", "companyInformation", "customers", "items", "locations", "paymentMethods"],
    ...["paymentTerms", "salesInvoices", "salesOrders", "shipmentMethods"],
  ]);
  expect(orderSelect.filter((name) => !facts["salesOrders"]?.properties[name])).toEqual([]);
  expect(lineSelect.filter((name) => !facts["salesOrderLines"]?.properties[name])).toEqual([]);
});
