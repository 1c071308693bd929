import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { ErpAnswerError, ErpAuthError, ErpUnavailableError } from "../../src/gateways/erp.ts";
import type { Harness } from "../helpers/gateways/erpHarness.ts";
import {
  numbersOf,
  orderNumber,
  startHarness,
  walkOrders,
} from "../helpers/gateways/erpHarness.ts";

let harness: Harness;
afterEach(() => harness.stop());

const all = Array.from({ length: 50 }, (_, index) => orderNumber(index));

async function failure(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("nothing was thrown");
}

describe("temporary errors are hidden by retries", () => {
  test.each([
    { kind: "status", status: 500 },
    { kind: "status", status: 503, retryAfter: "0" },
    { kind: "status", status: 504 },
    { kind: "status", status: 408 },
    { kind: "status", status: 429 },
    { kind: "drop" },
    { kind: "malformed" },
    { kind: "slow", ms: 700 },
  ])("%j", async (fault) => {
    harness = await startHarness({}, { pageSize: 20, timeoutMs: 400 });
    for (const set of ["salesOrders", "items", "shipmentMethods", "token"])
      await harness.fault({ ...fault, set, times: 2 });
    expect(numbersOf((await walkOrders(harness.erp)).orders)).toEqual(all);
    const { faults } = await harness.control("GET", "");
    expect(faults).toEqual([]);
  });
});

describe("permanent errors end with their error class", () => {
  test.each([
    [{ kind: "status", status: 500 }, ErpUnavailableError, "answered 500: Internal_ServerError"],
    [{ kind: "drop" }, ErpUnavailableError, "The connection to the ERP failed"],
    [{ kind: "malformed" }, ErpUnavailableError, "not JSON"],
    [{ kind: "slow", ms: 2_000 }, ErpUnavailableError, "did not answer within 150 ms"],
    [{ kind: "status", status: 400 }, ErpAnswerError, "rejected the request (400)"],
    [{ kind: "status", status: 404 }, ErpAnswerError, "check tenant, environment and company"],
    [{ kind: "status", status: 403 }, ErpAuthError, "lacks a permission in the ERP"],
    [{ kind: "redirect", url: "https://example.com/" }, ErpAnswerError, "(302)"],
    [{ kind: "pad", bytes: 33 * 1024 * 1024 }, ErpAnswerError, "larger than 33554432 bytes"],
  ] as const)("%j", async (fault, kind, message) => {
    harness = await startHarness({}, { timeoutMs: fault.kind === "slow" ? 150 : 20_000 });
    await harness.fault({ ...fault, set: "items", times: 1_000 });
    const error = await failure(harness.erp.itemsByNumbers(["100001"]));
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toContain(message);
  });

  test("retries a temporary error a limited number of times and a permanent one never", async () => {
    harness = await startHarness({}, { retries: 3 });
    await harness.fault({ kind: "status", status: 500, set: "items", times: 1_000 });
    await failure(harness.erp.itemsByNumbers(["100001"]));
    const path = (set: string) => `/companies(${harness.env["ERP_COMPANY_ID"] ?? ""})/${set}?`;
    const asked = async (set: string) => {
      const seen = await harness.requests();
      return seen.filter((request) => request.path.includes(path(set))).length;
    };
    expect(await asked("items")).toBe(4);
    await harness.fault({ kind: "status", status: 400, set: "customers", times: 1_000 });
    await failure(harness.erp.customersByNumbers(["10001"]));
    expect(await asked("customers")).toBe(1);
  });

  test("a server that does not exist is unavailable", async () => {
    harness = await startHarness();
    const erp = harness.client({ ERP_BASE_URL: "http://127.0.0.1:1/v2.0" });
    const error = await failure(erp.check());
    expect(error).toBeInstanceOf(ErpUnavailableError);
  });
});

describe("a rate limit", () => {
  test.each([
    ["seconds", () => "2"],
    ["a date", () => new Date(Date.now() + 2_999).toUTCString()],
  ])("is obeyed as requested in %s", async (_form, retryAfter) => {
    harness = await startHarness({}, { longestWaitMs: 5000 });
    await harness.erp.itemsByNumbers(["100001"]);
    await harness.fault({ kind: "status", status: 429, set: "items", retryAfter: retryAfter() });
    const start = performance.now();
    const { records } = await harness.erp.itemsByNumbers(["100001"]);
    expect(records).toHaveLength(1);
    // An HTTP date has a resolution of a second.
    expect(performance.now() - start).toBeGreaterThan(1_900);
  });

  test("with a longer delay than allowed is left to the caller, with the delay", async () => {
    harness = await startHarness();
    await harness.fault({ kind: "status", status: 429, set: "items", retryAfter: "3600" });
    const error = await failure(harness.erp.itemsByNumbers(["100001"]));
    expect(error).toMatchObject({ name: "ErpUnavailableError", retryAfterMs: 3_600_000 });
    expect(harness.erp.circuit()).toBe("closed");
  });
});

describe("the circuit breaker", () => {
  const settings = { retries: 0, breakerFailures: 3, breakerMs: 300 };
  const ask = () => harness.erp.itemsByNumbers(["100001"]);
  const requests = async () => Number((await harness.control("GET", ""))["requests"]);

  test("opens after several failures, blocks all calls, and closes when the ERP is back", async () => {
    harness = await startHarness({}, settings);
    await harness.fault({ kind: "status", status: 500, set: "items", times: 3 });
    for (let round = 0; round < 3; round++) await failure(ask());
    expect(harness.erp.circuit()).toBe("open");
    const before = await requests();
    const error = await failure(ask());
    expect(error).toBeInstanceOf(ErpUnavailableError);
    expect(error.message).toMatch(/^The ERP answered 500.*; requests are paused for a while$/);
    const { retryAfterMs } = { retryAfterMs: null, ...error };
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(300);
    expect(await requests()).toBe(before);
    // The health check ignores the circuit breaker.
    expect((await harness.erp.check()).company).toContain("Vinhandelen");
    const deadline = Date.now() + 10_000;
    while (harness.erp.circuit() !== "closed" && Date.now() < deadline) await ask().catch(() => {});
    expect((await ask()).records).toHaveLength(1);
    expect(harness.erp.circuit()).toBe("closed");
  });

  test("stays closed during rate limits and rejections", async () => {
    harness = await startHarness({}, settings);
    await harness.fault({ kind: "status", status: 429, set: "items", times: 5 });
    await harness.fault({ kind: "status", status: 400, set: "items", times: 5 });
    for (let round = 0; round < 10; round++) await failure(ask());
    expect(harness.erp.circuit()).toBe("closed");
  });
});

describe("access tokens", () => {
  const tokens = async () => Number((await harness.control("GET", ""))["tokens"]);

  test("one serves concurrent and later calls", async () => {
    harness = await startHarness();
    await Promise.all(Array.from({ length: 20 }, () => harness.erp.itemsByNumbers(["100001"])));
    await harness.erp.check();
    expect(await tokens()).toBe(1);
  });

  test("a revoked one is replaced without an error", async () => {
    harness = await startHarness();
    await harness.erp.check();
    await harness.control("POST", "tokens/expire");
    expect((await harness.erp.itemsByNumbers(["100001"])).records).toHaveLength(1);
    expect(await tokens()).toBe(2);
  });

  test("one is replaced before it expires", async () => {
    harness = await startHarness({ tokenSeconds: 1 });
    await harness.erp.check();
    const deadline = Date.now() + 10_000;
    while ((await tokens()) < 2 && Date.now() < deadline) await harness.erp.check();
    const seen = await harness.requests();
    expect(seen.every(({ status }) => status === 200 || status === null)).toBe(true);
  });

  test.each([
    ["ERP_CLIENT_SECRET", "wrong-secret-7f3a", "invalid_client, AADSTS7000215"],
    ["ERP_CLIENT_ID", "nobody", "unauthorized_client, AADSTS700016"],
  ])("are not issued for another %s", async (name, value, message) => {
    harness = await startHarness();
    const error = await failure(harness.client({ [name]: value }).changedOrders(null));
    expect(error).toBeInstanceOf(ErpAuthError);
    expect(error.message).toContain(message);
  });

  test("rejected by the ERP cause an error, not an endless loop", async () => {
    harness = await startHarness();
    await harness.fault({ kind: "status", status: 401, set: "items", times: 100 });
    const error = await failure(harness.erp.itemsByNumbers(["100001"]));
    expect(error).toBeInstanceOf(ErpAuthError);
    expect(await tokens()).toBe(2);
  });
});

test("error messages contain no secret and no token", async () => {
  const secret = "very-secret-7f3a";
  harness = await startHarness();
  const errors: unknown[] = [];
  const collect = async (env: Record<string, string>) =>
    errors.push(await failure(harness.client(env).changedOrders(null)));
  await collect({ ERP_CLIENT_SECRET: secret });
  await harness.fault({ kind: "malformed", set: "token", times: 100 });
  await collect({ ERP_CLIENT_SECRET: harness.env["ERP_CLIENT_SECRET"] ?? "" });
  await harness.control("DELETE", "faults");

  // A server that echoes requests.
  const echo = createServer((request, response) => {
    const { headers } = request;
    const message = JSON.stringify(headers);
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { code: "Echo", message } }));
  });
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
  const { port } = echo.address() as AddressInfo;
  await collect({ ERP_BASE_URL: `http://127.0.0.1:${port}` });
  await collect({ ERP_TOKEN_URL: `http://127.0.0.1:${port}/`, ERP_CLIENT_SECRET: secret });
  await new Promise((resolve) => echo.close(resolve));

  const output = errors.map(everything).join("\n");
  expect(output).toContain("Echo");
  expect(output).not.toContain(secret);
  expect(output).not.toContain(harness.env["ERP_CLIENT_SECRET"]);
  expect(output).not.toMatch(/[\w-]{43}/);
});

/** An error with its causes, as a log prints them. */
function everything(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error) ?? "";
  const own = JSON.stringify({ ...error, cause: undefined });
  return `${error.stack ?? ""} ${own} ${error.cause === undefined ? "" : everything(error.cause)}`;
}

describe("an abort signal", () => {
  test("ends a call that waits for a response", async () => {
    harness = await startHarness();
    await harness.fault({ kind: "slow", ms: 30_000, set: "items" });
    const stop = new AbortController();
    const call = failure(harness.erp.itemsByNumbers(["100001"], { signal: stop.signal }));
    stop.abort(new Error("enough"));
    expect((await call).message).toBe("enough");
  });

  test("ends a call that waits for its next try", async () => {
    harness = await startHarness({}, { longestWaitMs: 60000 });
    await harness.fault({ kind: "status", status: 429, retryAfter: "50", set: "items" });
    const stop = new AbortController();
    const call = failure(harness.erp.itemsByNumbers(["100001"], { signal: stop.signal }));
    const deadline = Date.now() + 10_000;
    while (Date.now() < deadline) {
      const { faults } = await harness.control("GET", "");
      if (Array.isArray(faults) && faults.length === 0) break;
    }
    stop.abort(new Error("enough"));
    expect((await call).message).toBe("enough");
  });

  test("ends a call at once when it is already aborted", async () => {
    harness = await startHarness();
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(harness.erp.changedOrders(null, { signal })).rejects.toThrow("enough");
    expect((await harness.control("GET", ""))["requests"]).toBe(0);
  });
});

test("sends the correlation id in the documented header", async () => {
  harness = await startHarness();
  await harness.erp.itemsByNumbers(["100001"], { correlationId: "run-4711" });
  const seen = await harness.requests();
  expect(seen.at(-1)?.requestId).toBe("run-4711");
  await harness.erp.itemsByNumbers(["100001"], { correlationId: "two words\r\n" });
  const later = await harness.requests();
  expect(later.at(-1)?.requestId).toMatch(/^[0-9a-f-]{36}$/);
});
