import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ErpAnswerError, type ErpClient, ErpUnavailableError } from "../../src/gateways/erp.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { Harness } from "../helpers/gateways/erpHarness.ts";
import {
  numbersOf,
  orderNumber,
  startHarness,
  walkOrders,
} from "../helpers/gateways/erpHarness.ts";
import {
  type HostileErp,
  type ResponseOverride,
  startHostileErp,
} from "../helpers/gateways/hostileErp.ts";

const timeoutMs = 1_500;
let harness: Harness;
let hostile: HostileErp;
let erp: ErpClient;

beforeAll(async () => {
  harness = await startHarness({ orders: 30, faultEvery: 0 });
  hostile = await startHostileErp(harness.env["ERP_BASE_URL"] ?? "");
});
const clientWith = (options: { timeoutMs: number }) =>
  harness.client({ ERP_BASE_URL: hostile.baseUrl }, { ...options, retries: 0, pageSize: 10 });
beforeEach(() => {
  erp = clientWith({ timeoutMs });
});
afterEach(() => {
  hostile.overrideResponses("items", null);
  hostile.overrideResponses("salesOrders", null);
});
afterAll(async () => {
  await hostile.stop();
  await harness.stop();
});

const json = { "content-type": "application/json" };
const say =
  (body: unknown): ResponseOverride =>
  (_answer, response) =>
    response
      .writeHead(200, json)
      .end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
const zipped =
  (bytes: Buffer): ResponseOverride =>
  (_answer, response) =>
    response.writeHead(200, { ...json, "content-encoding": "gzip" }).end(bytes);
const endless =
  (piece: Buffer): ResponseOverride =>
  (_answer, response) => {
    response.writeHead(200, json);
    const more = () => {
      while (!response.destroyed && response.write(piece));
    };
    response.on("drain", more);
    more();
  };
const dripping: ResponseOverride = (_answer, response) => {
  response.writeHead(200, json);
  const timer = setInterval(() => response.write(" "), 50);
  response.once("close", () => clearInterval(timer));
};
const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024, 32));

describe("an invalid response ends a call in time with a reason:", () => {
  test.each<[string, ResponseOverride, RegExp]>([
    ["a body sent byte by byte", dripping, /did not answer within 1500 ms/],
    ["no response", () => undefined, /did not answer within 1500 ms/],
    ["a false content encoding", zipped(Buffer.from("{}")), /connection to the ERP failed/],
    ["invalid UTF-8", say(Buffer.from([0x7b, 0xff, 0xfe, 0x7d])), /response is not UTF-8/],
    ["a million open brackets", say("[".repeat(1_000_000)), /is not JSON/],
    ["a million nested lists", say("[".repeat(5e5) + "]".repeat(5e5)), /is not (JSON|a list)/],
    ["an empty body", say(""), /is not JSON/],
    ["a string", say('"value"'), /is not a list of records/],
    ["null", say("null"), /is not a list of records/],
    ["records that are not a list", say({ value: { 0: {} } }), /is not a list of records/],
    [
      "a link that is not a string",
      say({ value: [], "@odata.nextLink": 7 }),
      /is not a list of records/,
    ],
    ["a link of 30 KB", say({ value: [], "@odata.nextLink": "x".repeat(3e4) }), /is not a list/],
    [
      "nothing for ever, by status 102",
      (_answer, response) => {
        const timer = setInterval(() => response.writeProcessing(), 20);
        response.once("close", () => clearInterval(timer));
      },
      /did not answer within 1500 ms/,
    ],
    [
      "a partial response",
      (_a, response) => void response.writeHead(206, json).end("{}"),
      /\(206\)/,
    ],
    ["not modified", (_a, response) => void response.writeHead(304).end(), /\(304\)/],
    [
      "10,000 headers",
      (_answer, response) => {
        for (let at = 0; at < 10_000; at++) response.setHeader(`x-${at}`, "y");
        response.end("{}");
      },
      /connection to the ERP failed/,
    ],
  ])("%s", async (_what, how, message) => {
    hostile.overrideResponses("items", how);
    const began = performance.now();
    const error = await erp.itemsByNumbers(["100001"]).catch((thrown: unknown) => thrown);
    expect(error instanceof ErpAnswerError || error instanceof ErpUnavailableError).toBe(true);
    expect((error as Error).message).toMatch(message);
    expect(performance.now() - began).toBeLessThan(timeoutMs + 20_000);
  });

  test.each<[string, ResponseOverride]>([
    ["200 MB compressed to 200 KB", zipped(bomb)],
    ["a body without end", endless(Buffer.alloc(65_536, 32))],
  ])("%s, before all of it is read", async (_what, how) => {
    hostile.overrideResponses("items", how);
    // Long enough that the size limit ends the call also on a busy machine.
    const patient = clientWith({ timeoutMs: 120_000 });
    await expect(patient.itemsByNumbers(["100001"])).rejects.toThrow(/larger than 33554432 bytes/);
  });

  test("ten million empty records, before they are parsed", async () => {
    hostile.overrideResponses("items", say(`{"value":[${"{},".repeat(9_999_999)}{}]}`));
    const patient = clientWith({ timeoutMs: 120_000 });
    const before = process.memoryUsage().heapUsed;
    await expect(patient.itemsByNumbers(["100001"])).rejects.toThrow("more than 300000 values");
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(500e6);
  });

  test("further pages with a new link each time", async () => {
    let at = 0;
    hostile.overrideResponses("items", (answer, response, request) => {
      const link = `http://${request.headers.host ?? ""}${request.url ?? ""}&$skiptoken=${at++}`;
      response.writeHead(200, json).end(JSON.stringify({ ...answer, "@odata.nextLink": link }));
    });
    await expect(erp.itemsByNumbers(["100001"])).rejects.toThrow("never end");
    expect(at).toBeLessThanOrEqual(200);
  });

  test("endless orders, each page later than the one before", async () => {
    const month = 30 * 24 * 60 * 60 * 1_000;
    hostile.overrideResponses("salesOrders", (answer, response, request) => {
      const query = new URL(request.url ?? "", "http://hostile").searchParams;
      const from = Date.parse(/ge (\S+) /.exec(query.get("$filter") ?? "")?.[1] ?? "2020-01-01");
      const top = Number(query.get("$top"));
      const orders = Array.from({ length: top }, (_order, index) => ({
        ...answer.value?.[0],
        number: `X${from + index * month}`,
        lastModifiedDateTime: new Date(from + index * month).toISOString(),
      }));
      const isNewest = query.get("$orderby")?.includes("desc");
      const value = isNewest ? answer.value : orders;
      response.writeHead(200, json).end(JSON.stringify({ ...answer, value }));
    });
    const before = hostile.requestCount();
    await expect(
      walkOrders(erp, null, () => {
        if (hostile.requestCount() - before > 500) throw new Error("it went on");
      }),
    ).rejects.toThrow("newer than requested");
  });
});

test("one order larger than a response is reported, and the others are read", async () => {
  const number = orderNumber(7);
  hostile.overrideResponses("salesOrders", (answer, response) => {
    for (const order of answer.value ?? [])
      if (order["number"] === number && order["salesOrderLines"])
        order["customerName"] = "x".repeat(33 * 1024 * 1024);
    response.writeHead(200, json).end(JSON.stringify(answer));
  });
  const large = clientWith({ timeoutMs: 120_000 });
  const { orders, unreadable } = await walkOrders(large);
  const report = { number, path: "record", message: "is larger than the service reads" };
  // Pages overlap, so a record may appear more than once.
  for (const one of unreadable) expect(one).toMatchObject(report);
  expect(unreadable).not.toEqual([]);
  expect(numbersOf(orders)).toHaveLength(29);
  const asked = await large.ordersByNumbers([number, orderNumber(8)]);
  expect(asked.unreadable).toMatchObject([report]);
  expect(numbersOf(asked.records)).toEqual([orderNumber(8)]);
  expect(asked.missing).toEqual([]);
});

test("a code that the ERP got after its codes were read is read before they expire", async () => {
  const id = "0123abcd-0123-4567-89ab-0123456789ac";
  const given: Record<string, unknown>[] = [];
  hostile.overrideResponses("shipmentMethods", (answer, response) =>
    response.writeHead(200, json).end(JSON.stringify({ ...answer, value: given })),
  );
  hostile.overrideResponses("salesOrders", (answer, response) => {
    for (const order of answer.value ?? []) order["shipmentMethodId"] = id;
    response.writeHead(200, json).end(JSON.stringify(answer));
  });
  try {
    const read = async () => (await walkOrders(erp)).orders[0]?.shipmentMethodCode;
    expect(await read()).toBe(id);
    given.push({ id, code: "NEW" });
    await waitFor("the new code", async () => (await read()) === "NEW", 30_000);
  } finally {
    hostile.overrideResponses("shipmentMethods", null);
  }
});

test("a time with any offset is read as UTC", async () => {
  hostile.overrideResponses("salesOrders", (answer, response) => {
    for (const order of answer.value ?? []) {
      const at = Date.parse(String(order["lastModifiedDateTime"])) + 86_340_000;
      order["lastModifiedDateTime"] = new Date(at).toISOString().replace("Z", "+23:59");
    }
    response.writeHead(200, json).end(JSON.stringify(answer));
  });
  const { orders, unreadable } = await walkOrders(erp);
  expect(unreadable).toEqual([]);
  for (const { lastModified } of orders)
    expect(lastModified).toBe(new Date(lastModified).toISOString());
});

test("the last moment of the year 9999 ends a walk", async () => {
  const late = await startHarness({ orders: 12 }, { lateMs: 1_000 });
  try {
    const lastModifiedDateTime = "9999-12-31T23:59:59.999Z";
    await late.control("PATCH", "salesOrders/S-ORD100002", { lastModifiedDateTime });
    expect(numbersOf((await walkOrders(late.erp)).orders)).toHaveLength(12);
  } finally {
    await late.stop();
  }
});

test("an error text that repeats the token or the client's secret does not pass them on", async () => {
  const secret = harness.env["ERP_CLIENT_SECRET"] ?? "none";
  let token = "";
  hostile.overrideResponses("items", (_answer, response, request) => {
    token = (request.headers.authorization ?? "").replace("Bearer ", "");
    const message = `token=${token} secret=${secret}`;
    response.writeHead(400, json).end(JSON.stringify({ error: { code: "Bad", message } }));
  });
  const error = await erp.itemsByNumbers(["100001"]).catch((thrown: unknown) => thrown);
  expect(String(error)).toContain("Bad: token=... secret=...");
  expect(token.length).toBeGreaterThan(10);
});

describe("an ERP clock that was ahead and was corrected", () => {
  const hour = 60 * 60 * 1_000;
  test.each([
    ["an hour", hour],
    ["7,000 years", 7_000 * 365 * 24 * hour],
  ])("hides no later change: %s", async (_how, skewMs) => {
    const ahead = await startHarness({ orders: 12 }, { lateMs: 1_000 });
    try {
      await ahead.control("PUT", "clock", { skewMs });
      await ahead.control("PATCH", "salesOrders/S-ORD100002", { email: "ahead@example.com" });
      const first = await walkOrders(ahead.erp);
      const second = await walkOrders(ahead.erp, first.cursor);
      await ahead.control("PUT", "clock", { skewMs: 0 });
      await ahead.control("PATCH", "salesOrders/S-ORD100003", { email: "right@example.com" });
      const third = await walkOrders(ahead.erp, second.cursor);
      expect(numbersOf(third.orders)).toContain("S-ORD100003");
    } finally {
      await ahead.stop();
    }
  });
});

test("limits a requested delay of thirty years to a day", async () => {
  for (const retryAfter of ["999999999", "1000000000", "Fri, 31 Dec 9999 23:59:59 GMT"]) {
    hostile.overrideResponses("items", (_answer, response) =>
      response.writeHead(429, { "retry-after": retryAfter }).end("{}"),
    );
    const error = await erp.itemsByNumbers(["100001"]).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ErpUnavailableError);
    expect((error as ErpUnavailableError).retryAfterMs ?? 0).toBeLessThanOrEqual(86_400_000);
  }
  hostile.overrideResponses("items", null);
  expect(numbersOf((await walkOrders(erp)).orders)).toContain(orderNumber(0));
});
