import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { send } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";
import { type ValidRequest, mutationsOf } from "../helpers/http/mutations.ts";

const requests = 500;
let service: Service;
let token: string;
let userId: string;

beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: "warn", ENABLE_E2E_TEST_MODE: "true" } });
  const { rows } = await service.database.pool.query<{ key: string }>(
    "select key from permissions",
  );
  const keys = rows.map((row) => row.key);
  ({ token, userId } = await service.login(keys, "fuzz@example.com"));
});
afterAll(async () => {
  await service.stop();
});

/** Valid requests of every kind. */
const valid = (): ValidRequest[] => [
  {
    query: "query ($id: ID!) { user(id: $id) { id email roles { name permissions { key } } } }",
    variables: { id: userId },
  },
  {
    query:
      "query A($n: Int) { users(first: $n, offset: 0, orderBy: [ID_DESC]) { id } } query B { __typename }",
    variables: { n: 3 },
    operationName: "A",
  },
  {
    query: `{ auditLogs(input: { operation: "READ", from: "2026-01-01T00:00:00Z", limit: 5 }) { total items { id metadata } } }`,
  },
  {
    query:
      "query ($i: AuditLogQueryInput) { auditLogs(input: $i) { total limit items { before after } } }",
    variables: {
      i: { actorUserId: userId, entityType: "User", entityId: "x", correlationId: "y", offset: 1 },
    },
  },
  {
    query:
      "mutation ($i: CreateCampaignInput!) { createCampaign(input: $i) { id title author { email } } }",
    variables: {
      i: {
        title: "Autumn",
        price: "9",
        medium: "EMAIL",
        scheduledAt: "2026-09-01T08:00:00Z",
        authorUserId: userId,
        vintage: 2019,
        color: "#7A0019",
        note: "a",
      },
    },
  },
  {
    query: "mutation ($i: CreateRoleInput!) { createRole(input: $i) { id permissions { key } } }",
    variables: {
      i: { name: "Helpers", description: "x", permissionKeys: ["users.read", "roles.read"] },
    },
  },
  {
    query:
      "query ($q: String) { products(first: 2, query: $q, includeTotalCount: true) { totalCount nodes { id } pageInfo { endCursor } } }",
    variables: { q: `name:"a b" OR vintage:>=2000` },
  },
  {
    query:
      "mutation ($id: ID!, $i: UpdateUserInput!) { updateUser(id: $id, input: $i) { id name } }",
    variables: { id: userId, i: { name: "Dora" } },
  },
  {
    query: "query ($type: String!) { searchFields(type: $type) { name kind operators } }",
    variables: { type: "products" },
  },
  { query: "{ me { ...P } } fragment P on User { id ... on User @include(if: true) { name } }" },
];

test(`mutated requests cause neither an internal error nor a crash (${requests} of them)`, async () => {
  for (const body of valid()) {
    const answer = await send(service.url, {
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    expect(answer.json.errors).toBeUndefined();
  }
  const outcomes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(mutationsOf(valid()), async ({ headers, body }) => {
      const answer = await send(service.url, {
        headers: { authorization: `Bearer ${token}`, ...headers },
        body,
      });
      const seen = `${answer.status} ${answer.json?.errors?.[0]?.extensions?.code ?? "answered"}`;
      outcomes.set(seen, (outcomes.get(seen) ?? 0) + 1);
      expect(answer.status).toBeLessThan(500);
      expect(answer.json).toBeDefined();
      for (const error of answer.json.errors ?? []) {
        expect(error.message).not.toBe("Internal error");
        expect(error.extensions).toMatchObject({
          code: expect.stringMatching(/^[A-Z_]+$/),
          correlationId: answer.headers["x-correlation-id"],
        });
        expect(error.extensions.code).not.toBe("INTERNAL");
      }
      expect(answer.text).not.toMatch(
        /backoffice\.|node_modules|violates|syntax error at or near|pg_/,
      );
    }),
    { seed: 20260901, numRuns: requests, unbiased: true, endOnFailure: true },
  );
  // Rejections for a single reason would prove little.
  expect(outcomes.size).toBeGreaterThan(3);
  expect(outcomes.get("200 answered") ?? 0).toBeGreaterThan(requests / 50);
  expect(service.output()).not.toContain('"level":"error"');
});
