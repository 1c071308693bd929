import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { send } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";

const requests = 500;
let service: Service;
let token: string;
let userId: string;

beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: "warn", ENABLE_E2E_TEST_MODE: "true" } });
  const { rows } = await service.database.pool.query<{ key: string }>(
    "select key from permissions",
  );
  ({ token, userId } = await service.login(
    rows.map((row) => row.key),
    "fuzz@example.com",
  ));
});
afterAll(async () => {
  await service.stop();
});

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Requests that are answered without an error, of every kind that is there. */
const valid = (): Json[] => [
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
  { query: `mutation { devLogin(email: "fuzz@example.com") { user { id } } }` },
  { query: "{ me { ...P } } fragment P on User { id ... on User @include(if: true) { name } }" },
];

const strange: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    0,
    -1,
    1.5,
    1e21,
    2 ** 31,
    "",
    " ",
    "\u0000",
    "\ud800",
    "\u202e",
    "__proto__",
    "constructor",
    "null",
    "NaN",
    "infinity",
    "2026-02-30T00:00:00Z",
    "'; drop table users; --",
    "%s%n",
    "${1}",
    "../../etc/passwd",
    "\\u0000",
    '"',
    "\\",
    "[",
    "{",
    [],
    {},
    [null],
    { "": 1 },
    { __proto__: 1 },
    "00000000-0000-0000-0000-000000000000",
    "a".repeat(5_000),
    "*",
    "name:",
    "IN(",
    "🍷",
  ),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.string({ unit: "grapheme-ascii", maxLength: 40 }),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.integer(),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }).map((value) => value as Json),
);

/** All places in a value, as lists of keys. */
function places(value: Json, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [path];
  const keys: (string | number)[] = Array.isArray(value)
    ? value.map((_item, index) => index)
    : Object.keys(value);
  return [
    path,
    ...keys.flatMap((key) =>
      places((value as Record<string | number, Json>)[key] ?? null, [...path, key]),
    ),
  ];
}

function replaced(value: Json, path: (string | number)[], by: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return by;
  const copy = structuredClone(value) as Record<string | number, Json>;
  copy[key] = replaced(copy[key] ?? null, rest, by);
  return copy as Json;
}

/** A request with something changed: a value, a piece of its query, or a byte of the body. */
const mutated = fc
  .record({
    which: fc.nat(),
    where: fc.nat(),
    value: strange,
    cut: fc.tuple(fc.nat(), fc.nat({ max: 12 })),
    patch: fc.constantFrom(
      "",
      "{",
      "}",
      "(",
      "$",
      "@",
      "...",
      '"',
      "#",
      "null",
      "on",
      ":",
      "!",
      "[",
      "__typename ",
      "\\u0000",
      "1e999",
      "é",
      "\u0000",
    ),
    byte: fc.nat({ max: 255 }),
    kind: fc.constantFrom(
      "variable",
      "variable",
      "variable",
      "variable",
      "part",
      "query",
      "query",
      "byte",
    ),
    header: fc.oneof(
      { weight: 9, arbitrary: fc.constant(null) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          "x-correlation-id",
          "x-test-run-id",
          "authorization",
          "accept",
          "user-agent",
          "x-forwarded-for",
        ),
      },
    ),
    headerValue: fc.string({ unit: "grapheme-ascii", maxLength: 50 }),
  })
  .map((choice) => ({ ...choice }));

test(`No mutation of a valid request brings the server out of its composure (${requests} of them).`, async () => {
  for (const body of valid()) {
    const answer = await send(service.url, {
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    expect(answer.json.errors).toBeUndefined();
  }
  const outcomes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(mutated, async (choice) => {
      const bodies = valid();
      const original = bodies[choice.which % bodies.length] as { query: string; variables: Json };
      let body: Buffer = Buffer.from(JSON.stringify(original));
      if (choice.kind === "variable" || choice.kind === "part") {
        const start = choice.kind === "variable" && "variables" in original ? ["variables"] : [];
        const all = places(start.length > 0 ? original.variables : original, start);
        const path = all[choice.where % all.length] ?? [];
        body = Buffer.from(JSON.stringify(replaced(original, path, choice.value)));
      } else if (choice.kind === "query") {
        const [at, length] = choice.cut;
        const from = at % original.query.length;
        const query =
          original.query.slice(0, from) + choice.patch + original.query.slice(from + length);
        body = Buffer.from(JSON.stringify({ ...original, query }));
      } else body[choice.where % body.length] = choice.byte;
      const answer = await send(service.url, {
        headers: {
          authorization: `Bearer ${token}`,
          ...(choice.header ? { [choice.header]: choice.headerValue } : {}),
        },
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
  // It would prove little if all were refused for the same reason.
  expect(outcomes.size).toBeGreaterThan(3);
  expect(outcomes.get("200 answered") ?? 0).toBeGreaterThan(requests / 50);
  expect(service.output()).not.toContain('"level":"error"');
}, 120_000);
