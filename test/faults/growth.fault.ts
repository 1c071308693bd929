import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { makeToken } from "../../src/auth/tokens.ts";
import { type RawRequest, send } from "../helpers/http.ts";
import { type ServerProcess, startServerProcess } from "../helpers/service.ts";

// No input may cost more than linear time: each kind is sent in four sizes, each twice the previous one.
jest.setTimeout(180_000);

let service: ServerProcess;
let token: string;

beforeAll(async () => {
  service = await startServerProcess({
    env: {
      ENABLE_E2E_TEST_MODE: "true",
      OIDC_PROVIDERS: JSON.stringify([
        { id: "main", name: "Main", issuer: "http://127.0.0.1:9", clientId: "growth" },
      ]),
    },
  });
  ({ token } = await service.login(["roles.create", "products.read", "productsync.run", "ai.use"]));
});
afterAll(() => service.stop());

const list = (count: number, make: (index: number) => string, between = " ") =>
  Array.from({ length: count }, (_value, index) => make(index)).join(between);
const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
const body = (query: string, variables?: unknown): RawRequest => ({
  headers: { "content-type": "application/json", ...bearer(token) },
  body: JSON.stringify({ query, variables }),
});
const createRole = "mutation ($i: CreateRoleInput!) { createRole(input: $i) { id } }";
const triggerSync =
  "mutation ($i: TriggerProductSyncInput!) { triggerProductSync(input: $i) { accepted } }";
const productsBy = (name: string, type: string) =>
  `query ($v: ${type}) { products(first: 1, ${name}: $v) { nodes { id } } }`;
const search = (text: string) => body(productsBy("query", "String"), { v: text });
const literal = (text: string) => body(`{ products(first: 1, ${text}) { nodes { id } } }`);
const header = (name: string, value: string): RawRequest => ({
  ...body("{ __typename }"),
  headers: { "content-type": "application/json", ...bearer(token), [name]: value },
});
const get = (path: string, headers: Record<string, string> = {}): RawRequest => ({
  method: "GET",
  path,
  headers,
});
const keys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_value, index) => [`k${index}`, 0]));
const raw = (text: string): RawRequest => ({ ...body(""), body: text });
const chat = (message: unknown): RawRequest => ({
  ...body(""),
  path: "/ai/chat",
  body: JSON.stringify({ id: "growth", messages: [message] }),
});

/** Kinds of input: the largest of the four sizes, and the request of a size. */
const inputs: Record<string, [largest: number, make: (size: number) => RawRequest]> = {
  "unknown keys of an input object": [200_000, (n) => body(createRole, { i: keys(n) })],
  "unknown keys without login": [
    200_000,
    (n) => ({
      headers: { "content-type": "application/json", ...bearer(makeToken("session")) },
      body: JSON.stringify({ query: createRole, variables: { i: keys(n) } }),
    }),
  ],
  "objects of a hundred unknown keys": [
    3_000,
    (n) => body(createRole, { i: Array.from({ length: n }, () => keys(99)) }),
  ],
  "objects in place of texts": [
    2_000,
    (n) =>
      body(triggerSync, { i: { erpProductNumbers: Array.from({ length: n }, () => keys(99)) } }),
  ],
  "undeclared variables": [200_000, (n) => body("{ __typename }", keys(n))],
  "wrong values of an enum": [
    400_000,
    (n) => body(productsBy("orderBy", "[ProductOrderBy!]"), { v: Array(n).fill("NAME_ASCE") }),
  ],
  "right values of an enum": [
    400_000,
    (n) => body(productsBy("orderBy", "[ProductOrderBy!]"), { v: Array(n).fill("NAME_ASC") }),
  ],
  "wrong ids": [50_000, (n) => body(triggerSync, { i: { productIds: Array(n).fill({}) } })],
  "valid ids of missing rows": [
    50_000,
    (n) =>
      body(triggerSync, {
        i: { productIds: Array(n).fill("00000000-0000-7000-8000-000000000000") },
      }),
  ],
  "nested variables": [
    1_000_000,
    (n) => raw(`{"query":"{ __typename }","variables":{"v":${"[".repeat(n)}${"]".repeat(n)}}}`),
  ],
  "a nested cursor": [
    3_000_000,
    (n) =>
      body(productsBy("after", "Cursor"), { v: Buffer.from("[".repeat(n)).toString("base64") }),
  ],
  "a cursor of many values": [
    400_000,
    (n) =>
      body(productsBy("after", "Cursor"), {
        v: Buffer.from(JSON.stringify(Array(n).fill(["a", 1]))).toString("base64"),
      }),
  ],
  "a long literal": [80_000, (n) => literal(`query: "${"a".repeat(n)}"`)],
  "a literal of escapes": [12_000, (n) => literal(`query: "${"\\u0041".repeat(n)}"`)],
  "a block text of many lines": [40_000, (n) => literal(`query: """${"\n ".repeat(n)}"""`)],
  "a literal list": [3_000, (n) => literal(`orderBy: [${"NAME_ASC ".repeat(n)}]`)],
  "a nested literal": [3_000, (n) => literal(`orderBy: ${"[".repeat(n)}${"]".repeat(n)}`)],
  "unknown keys of a literal": [
    1_200,
    (n) => body(`mutation { createRole(input: { ${list(n, (i) => `k${i}: 0`)} }) { id } }`),
  ],
  "unknown arguments": [1_200, (n) => literal(list(n, (i) => `a${i}: 1`))],
  "unknown fields": [3_000, (n) => body(`{ ${list(n, (i) => `field${i}`)} }`)],
  directives: [1_500, (n) => body(`{ __typename ${"@include(if: true) ".repeat(n / 2)} }`)],
  "declared variables": [
    1_000,
    (n) => body(`query (${list(n, (i) => `$v${i}: Int`)}) { __typename }`),
  ],
  operations: [1_000, (n) => body(list(n, (i) => `query q${i} { __typename }`))],
  comments: [90_000, (n) => body(`{ __typename } ${"#\n".repeat(n / 2)}`)],
  "an operation name": [
    1_000_000,
    (n) => raw(JSON.stringify({ query: "{ __typename }", operationName: "a".repeat(n) })),
  ],
  "a persisted hash": [
    1_000_000,
    (n) => raw(JSON.stringify({ extensions: { persistedQuery: { sha256Hash: "a".repeat(n) } } })),
  ],
  "a repeated key of the body": [300_000, (n) => raw(`{${'"query":"",'.repeat(n)}"query":"x"}`)],
  "digits of the body": [4_000_000, (n) => raw(`{"query":"x","variables":{"v":${"9".repeat(n)}}}`)],
  "white space of the body": [4_000_000, (n) => raw(`{${" ".repeat(n)}"query":"x"}`)],
  "broken texts of the body": [
    500_000,
    (n) => raw(`{"query":"x","variables":{"v":"${"\\ud800".repeat(n)}"}}`),
  ],
  "words of a search": [2_000, (n) => search("a ".repeat(n))],
  "parentheses of a search": [4_000, (n) => search("(".repeat(n / 2) + ")".repeat(n / 2))],
  "negations of a search": [4_000, (n) => search(`${"-".repeat(n)}a`)],
  "alternatives of a search": [1_000, (n) => search(list(n, () => "a", " OR "))],
  "values of a search": [1_000, (n) => search(`vintage:IN(${list(n, String, ",")})`)],
  "quotes of a search": [4_000, (n) => search('"'.repeat(n))],
  "backslashes of a search": [4_000, (n) => search(`"${"\\".repeat(n)}`)],
  "colons of a search": [4_000, (n) => search(`name${":".repeat(n)}a`)],
  "dots of a search": [4_000, (n) => search(`name${".a".repeat(n / 2)}:a`)],
  "stars of a search": [4_000, (n) => search(`name:a${"*".repeat(n)}`)],
  "a misspelt field of a search": [4_000, (n) => search(`${"vintgae".repeat(n / 8)}:1`)],
  "a search of megabytes": [4_000_000, (n) => search("a".repeat(n))],
  "a token": [12_000, (n) => header("authorization", `Bearer ${"bos_".repeat(n / 4)}`)],
  "spaces before a token": [12_000, (n) => header("authorization", `Bearer ${" ".repeat(n)}x`)],
  "a cookie": [12_000, (n) => get("/auth/login", { cookie: "a=b; ".repeat(n / 5) })],
  "commas of Accept": [12_000, (n) => header("accept", "a/b,".repeat(n / 4))],
  "parameters of Accept": [12_000, (n) => header("accept", `a/b${";q=1".repeat(n / 4)}`)],
  "parameters of Content-Type": [
    12_000,
    (n) => header("content-type", `application/json${"; charset=utf-8".repeat(n / 15)}`),
  ],
  "spaces of Content-Type": [
    12_000,
    (n) => header("content-type", `application/json;${" ".repeat(n)}charset`),
  ],
  "a test run's id": [12_000, (n) => header("x-test-run-id", "a".repeat(n))],
  "an idempotency key": [12_000, (n) => header("idempotency-key", "a".repeat(n))],
  "a correlation id": [12_000, (n) => header("x-correlation-id", "bos".repeat(n / 3))],
  "addresses of proxies": [12_000, (n) => header("x-forwarded-for", "1.1.1.1,".repeat(n / 8))],
  "a program's name": [12_000, (n) => header("user-agent", "boa_".repeat(n / 4))],
  "a trace": [12_000, (n) => header("traceparent", "00-".repeat(n / 3))],
  "a path": [12_000, (n) => get(`/exports/${"%41".repeat(n / 3)}/download`, bearer(""))],
  "slashes of a path": [12_000, (n) => get(`/a${"/".repeat(n)}`)],
  "parameters of an address": [12_000, (n) => get(`/auth/login?${"returnTo=a&".repeat(n / 11)}`)],
  "an address to return to": [
    12_000,
    (n) => get(`/auth/login?returnTo=http://${"a.".repeat(n / 2)}`),
  ],
  "states of a login's callback": [
    12_000,
    (n) => get(`/auth/callback/main?${"state=a&".repeat(n / 8)}`, { cookie: "a=b" }),
  ],
  "a state of a login's callback": [
    12_000,
    (n) => get(`/auth/callback/main?state=${"%41".repeat(n / 3)}`, { cookie: "a=b" }),
  ],
  "parts of a multipart body": [
    40_000,
    (n) => ({
      headers: { "content-type": "multipart/form-data; boundary=b", ...bearer(token) },
      body: `${'--b\r\nContent-Disposition: form-data; name="0"\r\n\r\n\r\n'.repeat(n)}--b--`,
    }),
  ],
  "the name of a workbook": [
    12_000,
    (n) => ({
      path: `/exports/workbooks?kind=TABLE&name=${"a.".repeat(n / 2)}`,
      headers: { "content-type": "application/octet-stream", ...bearer(token) },
      body: "x",
    }),
  ],
  "parts of a message": [
    50_000,
    (n) => chat({ id: "m", role: "user", parts: Array(n).fill({ type: "text", text: "" }) }),
  ],
  "a message": [
    2_000_000,
    (n) => chat({ id: "m", role: "user", parts: [{ type: "text", text: "a".repeat(n) }] }),
  ],
  "keys of a message": [100_000, (n) => chat({ id: "m", role: "user", ...keys(n) })],
};

/** The server's CPU time so far, in milliseconds. */
async function processorTime(): Promise<number> {
  const stat = await readFile(`/proc/${service.process.pid}/stat`, "utf8");
  // After the name in parentheses, user and system time are fields 12 and 13, in hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** The lowest CPU time of several requests, because garbage collection adds to some. */
async function costOf(request: RawRequest): Promise<{ ms: number; status: number }> {
  let least = Infinity;
  let status = 0;
  for (let round = 0; round < 3; round++) {
    const before = await processorTime();
    ({ status } = await send(service.url, request));
    least = Math.min(least, (await processorTime()) - before);
  }
  return { ms: least, status };
}

/** An upper limit for a trivial request on a busy machine. */
const noiseMs = 60;
/** Smaller values are noise: the system counts in steps of 10 ms. */
const tickMs = 20;
/** The limit for the largest input. */
const boundMs = 1_000;

test.each(Object.entries(inputs))(
  "the cost of %s is linear in their size",
  async (_name, [largest, make]) => {
    const costs: number[] = [];
    for (const size of [largest / 8, largest / 4, largest / 2, largest]) {
      const { ms, status } = await costOf(make(Math.floor(size)));
      expect(status).toBeGreaterThanOrEqual(200);
      // An overloaded server may reject the request, but not with an internal error.
      expect(status).not.toBe(500);
      costs.push(ms);
    }
    const [first = 0, , , last = 0] = costs;
    expect({
      costs,
      isLinear: last <= 8 * 2 * Math.max(first, tickMs) + noiseMs,
      isBounded: last <= boundMs,
    }).toEqual({
      costs,
      isLinear: true,
      isBounded: true,
    });
  },
);
