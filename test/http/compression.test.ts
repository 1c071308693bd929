import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type RawBody, rawBody } from "../helpers/rawBody.ts";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService();
  ({ token } = await service.login(["reviewers.read", "permissions.read", "roles.read"]));
  await service.database.pool.query(
    "insert into reviewers (name) select 'Reviewer ' || n from generate_series(1, 2000) as n",
  );
});
afterAll(async () => {
  await service.stop();
});

/** Sends a request without the decoding of `fetch`. */
function ask(query: string, headers: Record<string, string> = {}): Promise<RawBody> {
  return rawBody(service.url, {
    method: "POST",
    path: "/graphql",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body: JSON.stringify({ query }),
  });
}

const decode = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
};

// Answered by one SQL statement, and by Grafast because of a meta field.
const paths = [
  ["the SQL-JSON path", "{ reviewers { id name createdAt } }"],
  ["Grafast", "{ __schema { types { name description fields { name description } } } }"],
] as const;

/** The response without the cost, which changes. */
const dataOf = (body: Buffer) => (JSON.parse(body.toString()) as { data: unknown }).data;

describe.each(paths)("a long response of %s", (_name, query) => {
  test.each(["br", "gzip"] as const)(
    "is compressed with %s when the client accepts it",
    async (encoding) => {
      const plain = await ask(query);
      expect(plain.encoding).toBeUndefined();
      expect(plain.body.length).toBeGreaterThan(40_000);
      const compressed = await ask(query, { "accept-encoding": `deflate, ${encoding}` });
      expect(compressed.encoding).toBe(encoding);
      expect(compressed.vary).toMatch(/\bAccept-Encoding\b/);
      expect(compressed.body.length).toBeLessThan(plain.body.length / 2);
      expect(dataOf(decode[encoding](compressed.body))).toEqual(dataOf(plain.body));
    },
  );

  test.each([
    ["gzip, deflate, br, zstd", "br"],
    ["br;q=0, gzip", "gzip"],
    ["identity", undefined],
    ["*;q=0, identity", undefined],
    ["deflate", undefined],
  ])("follows Accept-Encoding: %s", async (accepted, encoding) => {
    expect((await ask(query, { "accept-encoding": accepted })).encoding).toBe(encoding);
  });
});

describe("a response", () => {
  test("below 4 kB is not compressed", async () => {
    const answer = await ask("{ me { id } }", { "accept-encoding": "br" });
    expect(answer.encoding).toBeUndefined();
    expect(dataOf(answer.body)).toMatchObject({ me: { id: expect.any(String) } });
  });

  test("of many blocks is compressed completely", async () => {
    const aliases = Array.from({ length: 8 }, (_, n) => `a${n}: reviewers { id name createdAt }`);
    const query = `{ ${aliases.join(" ")} }`;
    const [plain, compressed] = await Promise.all([
      ask(query),
      ask(query, { "accept-encoding": "br" }),
    ]);
    expect(dataOf(brotliDecompressSync(compressed.body))).toEqual(dataOf(plain.body));
  });

  test("with an error is compressed too", async () => {
    const id = "00000000-0000-4000-8000-000000000000";
    const query = `{ reviewers { id name createdAt } user(id: "${id}") { id } }`;
    const answer = await ask(query, { "accept-encoding": "gzip" });
    expect(answer.encoding).toBe("gzip");
    expect(gunzipSync(answer.body).toString()).toContain("Missing required permission: users.read");
  });
});

// A long response with each secret, so that only the secret can be the reason.
const long = "x0: __schema { types { name description fields { name description } } }";
describe("a response with a secret is not compressed", () => {
  test.each([
    ["a login", 'mutation { devLogin(email: "nobody@example.com") { token } }'],
    ["an API token", 'mutation { createMyApiToken(input: { name: "x" }) { token } }'],
    ["an API token in a list", `{ myApiTokens { id token } ${long} }`],
    ["a search key", `{ searchConfig(type: "products") { scopedApiKey } ${long} }`],
    ["a search key for all", `{ globalSearchConfig { scopedApiKey } ${long} }`],
    [
      "a secret in a fragment",
      `fragment Made on ApiToken { id ... { token } } { myApiTokens { ...Made } ${long} }`,
    ],
  ])("%s", async (_name, query) => {
    const answer = await ask(query, { "accept-encoding": "br, gzip" });
    expect(answer.encoding).toBeUndefined();
    const { errors = [] } = JSON.parse(answer.body.toString()) as {
      errors?: { extensions: { code: string } }[];
    };
    // An invalid document would prove nothing.
    expect(errors.map(({ extensions }) => extensions.code)).not.toContain(
      "GRAPHQL_VALIDATION_FAILED",
    );
  });

  test("the same response without it is compressed", async () => {
    const answer = await ask(`{ myApiTokens { id } ${long} }`, { "accept-encoding": "br" });
    expect(answer.encoding).toBe("br");
  });
});
