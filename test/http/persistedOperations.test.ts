import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeToken } from "../../src/auth/tokens.ts";
import { ConfigError, readConfig } from "../../src/config.ts";
import { readPersistedDocuments } from "../../src/graphql/persistedDocuments.ts";
import { makeDocumentFinder } from "../../src/http/documentFinder.ts";
import { operationsUrl, scrape, valueOf } from "../helpers/metrics/exposition.ts";
import { startServerProcess, type Service } from "../helpers/service.ts";
import { waitForOutput } from "../helpers/waitFor.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const whoAmI = "query WhoAmI { me { email } }\n";
const page = "query Page($first: Int) { products(first: $first) { nodes { name } } }";
const gone = "query OfAnotherRelease { noSuchField }";
const open = "query Anyone { __typename }";

let folder: string;
let service: Service;
let token: string;

/** Sends a body unchanged. */
async function send(body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${service.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as {
    data?: Record<string, unknown>;
    errors?: { message: string; extensions: Record<string, unknown> }[];
    extensions?: { cost?: Record<string, unknown> };
  };
  return { status: response.status, headers: response.headers, ...answer };
}
const byHash = (text: string) => ({
  extensions: { persistedQuery: { version: 1, sha256Hash: sha256(text) } },
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "persisted-"));
  await writeFile(join(folder, "whoAmI.graphql"), whoAmI);
  await writeFile(
    join(folder, "plain.json"),
    JSON.stringify({ [sha256(page)]: page, [sha256(gone)]: gone }),
  );
  await writeFile(
    join(folder, "apollo.json"),
    JSON.stringify({
      format: "apollo-persisted-query-manifest",
      version: 1,
      operations: [{ id: sha256(open), name: "Anyone", type: "query", body: open }],
    }),
  );
  service = await startServerProcess({
    env: {
      PERSISTED_OPERATIONS: folder,
      PERSISTED_OPERATIONS_MODE: "only",
      METRICS_PORT: "0",
      REQUESTS_PER_MINUTE: "8",
      COST_PER_MINUTE: "700",
    },
  });
  ({ token } = await service.login(["products.read"]));
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

describe("with persisted operations only", () => {
  test("a known document is answered by hash, documentId and text", async () => {
    expect((await send(byHash(whoAmI))).data).toMatchObject({ me: { email: expect.any(String) } });
    expect((await send({ ...byHash(page), variables: { first: 1 } })).data).toEqual({
      products: { nodes: [] },
    });
    expect((await send({ documentId: `sha256:${sha256(open)}` })).data).toEqual({
      __typename: "Query",
    });
    expect((await send({ query: open })).data).toEqual({ __typename: "Query" });
  });

  test("an unknown hash or text is PERSISTED_QUERY_NOT_FOUND", async () => {
    ({ token } = await service.login(["products.read"]));
    const other = "{ me { id } }";
    for (const body of [byHash(other), { query: other }, { query: other, ...byHash(other) }]) {
      const { status, data, errors } = await send(body);
      expect([status, data]).toEqual([200, undefined]);
      expect(errors).toMatchObject([
        {
          message: "PersistedQueryNotFound",
          extensions: { code: "PERSISTED_QUERY_NOT_FOUND", correlationId: expect.any(String) },
        },
      ]);
    }
    // The text was not registered.
    expect((await send(byHash(other))).errors?.[0]?.extensions["code"]).toBe(
      "PERSISTED_QUERY_NOT_FOUND",
    );
  });

  test("a hash that does not match is rejected with its path", async () => {
    const cases = [
      { query: open, ...byHash(page) },
      { extensions: { persistedQuery: { sha256Hash: "abc" } } },
      { documentId: "md5:x" },
      { query: open, documentId: `sha256:${byHash(page).extensions.persistedQuery.sha256Hash}` },
    ];
    const paths = [];
    for (const body of cases) paths.push((await send(body)).errors?.[0]?.extensions["path"]);
    const place = ["extensions", "persistedQuery", "sha256Hash"];
    expect(paths).toEqual([place, place, ["documentId"], ["documentId"]]);
  });

  test("metrics use the document's operation name, and invalid documents are logged", async () => {
    const samples = await scrape(operationsUrl(service.output()));
    expect(
      valueOf(samples, "office_graphql_operations_total", { operation: "WhoAmI", outcome: "ok" }),
    ).toBe(1);
    expect(
      valueOf(samples, "office_graphql_operations_total", {
        operation: "refused",
        outcome: "PERSISTED_QUERY_NOT_FOUND",
      }),
    ).toBe(4);
    await waitForOutput(service, sha256(gone));
  });
});

describe("the rate limit of a caller", () => {
  test("is shown in extensions.cost and in headers", async () => {
    ({ token } = await service.login(["products.read"]));
    const first = await send({ ...byHash(page), variables: { first: 1 } });
    expect(first.extensions?.cost).toEqual({
      requested: 501,
      limit: 200_000,
      perMinute: 700,
      remaining: 199,
    });
    expect(first.headers.get("ratelimit-policy")).toBe('"requests";q=8;w=60, "cost";q=700;w=60');
    expect(first.headers.get("ratelimit")).toMatch(/^"requests";r=7;t=\d+, "cost";r=199;t=\d+$/);
    // Responses of Grafast and of the SQL-JSON path both have it.
    expect((await send(byHash(whoAmI))).extensions?.cost).toMatchObject({
      remaining: expect.any(Number),
    });
  });

  test("rejects a second large operation with 429, and not another user's", async () => {
    ({ token } = await service.login(["products.read"]));
    await send(byHash(page));
    const refused = await send(byHash(page));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.errors).toMatchObject([
      { extensions: { code: "RATE_LIMITED", limit: "cost", retryAfter: expect.any(Number) } },
    ]);
    ({ token } = await service.login(["products.read"]));
    expect((await send(byHash(page))).data).toEqual({ products: { nodes: [] } });
  });

  test("counts downloads by token, and anonymous requests by address", async () => {
    const { token: own } = await service.login(["exports.read"]);
    const authorization = `Bearer ${own}`;
    const download = () =>
      fetch(`${service.url}/exports/00000000-0000-4000-8000-000000000000/download`, {
        headers: { authorization },
      });
    for (let n = 0; n < 8; n++) expect((await download()).status).toBe(404);
    expect((await download()).status).toBe(429);
    expect((await send(byHash(open), { authorization })).status).toBe(429);
    const strangers = [];
    for (let n = 0; n < 9; n++)
      strangers.push(
        (await send(byHash(open), { authorization: n % 2 ? "" : `Bearer ${makeToken("session")}` }))
          .status,
      );
    expect(strangers).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 429]);
  });
});

describe("the other modes", () => {
  test("allow answers unknown documents; without documents a hash is not supported", () => {
    const known = new Map([[sha256(open), open]]);
    const allow = makeDocumentFinder(known, false);
    expect(allow({ query: "{ a }" })).toEqual({ query: "{ a }", persisted: false });
    expect(allow({ query: "{ a }", ...byHash("{ a }") })).toEqual({
      query: "{ a }",
      persisted: false,
    });
    expect(allow(byHash(open))).toEqual({ query: open, persisted: true });
    expect(() => allow(byHash("{ a }"))).toThrow("PersistedQueryNotFound");
    expect(() => makeDocumentFinder(null, false)(byHash(open))).toThrow(
      "PersistedQueryNotSupported",
    );
  });

  test("invalid files prevent the start", async () => {
    const place = join(folder, "odd.json");
    await writeFile(place, JSON.stringify({ [sha256("{ a }")]: "{ b }" }));
    await expect(readPersistedDocuments(place)).rejects.toThrow(/which is not its SHA-256/);
    await writeFile(place, "[]");
    await expect(readPersistedDocuments(place)).rejects.toThrow(/neither/);
    await expect(readPersistedDocuments(join(folder, "missing"))).rejects.toThrow(ConfigError);
    expect(() => readConfig({ PERSISTED_OPERATIONS_MODE: "only" })).toThrow(
      /PERSISTED_OPERATIONS is required/,
    );
  });
});
