import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { waitFor } from "../helpers/waitFor.ts";
import { send } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";

const me = JSON.stringify({ query: "{ me { email } }" });
const json: [string, string] = ["content-type", "application/json"];

let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService({ env: { TRUSTED_PROXIES: "1" } });
  ({ token } = await service.login(["users.read", "audit.read"], "dora@example.com"));
});
afterAll(async () => {
  await service.stop();
});

const askMe = (...headers: [string, string][]) =>
  send(service.url, { headers: [json, ...headers], body: me });

/** The audit row of a read with these headers. */
async function auditRow(...headers: [string, string][]) {
  const id = randomUUID();
  const body = JSON.stringify({ query: "{ users { id } }" });
  const answer = await send(service.url, {
    headers: [json, ["authorization", `Bearer ${token}`], ["x-correlation-id", id], ...headers],
    body,
  });
  expect(answer.json.errors).toBeUndefined();
  const { rows } = await service.database.pool.query<{
    ip_address: string;
    user_agent: string | null;
  }>("select ip_address, user_agent from audit_log where correlation_id = $1", [id]);
  expect(rows).toHaveLength(1);
  return rows[0];
}

describe("the address of a request", () => {
  test.each([
    ["none", [], "127.0.0.1"],
    ["what the one trusted proxy saw", [["X-Forwarded-For", "203.0.113.7"]], "203.0.113.7"],
    [
      "only what that proxy saw, whatever the client claims",
      [["X-Forwarded-For", "10.0.0.1, 198.51.100.9, 203.0.113.7"]],
      "203.0.113.7",
    ],
    [
      "also by several headers",
      [
        ["X-Forwarded-For", "10.0.0.1"],
        ["X-Forwarded-For", "203.0.113.8"],
      ],
      "203.0.113.8",
    ],
    ["also of the newer kind", [["X-Forwarded-For", "2001:db8::7"]], "2001:db8::7"],
    ["not what is no address", [["X-Forwarded-For", "'; drop table users"]], "127.0.0.1"],
    [
      "not what other headers say",
      [
        ["X-Real-IP", "203.0.113.9"],
        ["Forwarded", "for=203.0.113.9"],
      ],
      "127.0.0.1",
    ],
  ] as [string, [string, string][], string][])("counts %s", async (_name, headers, expected) => {
    expect((await auditRow(...headers))?.ip_address).toBe(expected);
  });

  test("ignores all headers without trusted proxies", async () => {
    const plain = await startService({ database: service.database });
    try {
      const id = randomUUID();
      await plain.ask("{ users { id } }", {
        token,
        headers: { "x-forwarded-for": "203.0.113.7", "x-correlation-id": id },
      });
      const { rows } = await service.database.pool.query(
        "select ip_address from audit_log where correlation_id = $1",
        [id],
      );
      expect(rows).toEqual([{ ip_address: "127.0.0.1" }]);
    } finally {
      await plain.stop();
    }
  });

  test("is stored with 500 characters of the User-Agent", async () => {
    expect((await auditRow(["User-Agent", "x".repeat(2_000)]))?.user_agent).toHaveLength(500);
    expect((await auditRow(["User-Agent", "Tür \u00ff"]))?.user_agent).toBeTruthy();
  });
});

describe("the correlation id", () => {
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  test.each(["order-7", "A.b_c:1/2", "x".repeat(100)])(
    "from the caller is kept: %p",
    async (id) => {
      const answer = await askMe(["X-Correlation-Id", id]);
      expect(answer.headers["x-correlation-id"]).toBe(id);
      expect(answer.json.errors[0].extensions.correlationId).toBe(id);
      await waitFor("the line in the log", () =>
        service.output().includes(`"correlationId":"${id}"`),
      );
    },
  );

  test.each([
    ["empty", [""]],
    ["too long", ["x".repeat(101)]],
    ["with spaces", ["a b"]],
    ["with quotes", ['a"}']],
    ["with other letters", ["\u00e4"]],
    ["with a tab", ["a\tb"]],
    ["given twice", ["a", "b"]],
  ])("that is %s is replaced by a new one", async (_name, ids) => {
    const answer = await askMe(...ids.map((id): [string, string] => ["X-Correlation-Id", id]));
    expect(answer.headers["x-correlation-id"]).toMatch(uuid);
    expect(answer.json.errors[0].extensions.correlationId).toBe(answer.headers["x-correlation-id"]);
  });

  test("with a line break is never logged", async () => {
    const { createConnection } = await import("node:net");
    const { hostname, port } = new URL(service.url);
    const answer = await new Promise<string>((resolve) => {
      let text = "";
      const socket = createConnection(Number(port), hostname, () => {
        socket.end(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Correlation-Id: fine\rX-Evil: 1\r\n\r\n`);
      });
      socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
      socket.on("close", () => {
        resolve(text);
      });
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(service.output()).not.toContain("X-Evil");
  });
});

describe("with test mode off, the header X-Test-run-id", () => {
  test.each([
    ["a query", "{ __typename }"],
    ["a login", `mutation { devLogin(email: "dora@example.com") { token } }`],
    ["a first user", `mutation { bootstrapFirstUser(email: "x@example.com") { token } }`],
    ["a clean-up", "mutation { cleanupTestRun }"],
    ["a guarded query", "{ users { id } }"],
  ])("is rejected for %s", async (_name, query) => {
    for (const id of ["run1", "", "NOT valid"]) {
      const answer = await service.ask(query, { token, headers: { "x-test-run-id": id } });
      expect(answer).toMatchObject({
        status: 200,
        errors: [{ extensions: { code: "TEST_MODE_DISABLED" } }],
      });
      expect(answer.data ?? null).toBeNull();
    }
  });

  test("is required by cleanupTestRun, whose message names the setting", async () => {
    const answer = await service.ask("mutation { cleanupTestRun }");
    expect(answer.errors).toMatchObject([
      {
        message: expect.stringContaining("ENABLE_E2E_TEST_MODE"),
        extensions: { code: "TEST_MODE_DISABLED" },
      },
    ]);
  });
});

describe("a response", () => {
  test.each([
    ["of rows", "{ users { id } }"],
    ["with a new token", `mutation { devLogin(email: "dora@example.com") { token } }`],
    ["that is a refusal", "{ campaigns { id } }"],
  ])("%s is not cacheable", async (_what, query) => {
    const answer = await send(service.url, {
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ query }),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers["cache-control"]).toBe("no-store");
  });
});
