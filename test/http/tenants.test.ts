import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { dumpSchema } from "../../dev/dump/dumpSchema.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { send } from "../helpers/http.ts";
import { type Service, startService, startServerProcess } from "../helpers/service.ts";
import { tenantsOf, bootstrap, cleanUp, run, testMode } from "../helpers/http/testRuns.ts";

let service: Service;
let other: Service;

beforeAll(async () => {
  service = await startService({ env: testMode });
  other = await startServerProcess({ env: testMode, database: service.database });
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

/** An operation without a login, whose first use creates the test tenant. */
const loginOfNobody = `mutation { devLogin(email: "nobody@example.com") { token } }`;

describe("test runs", () => {
  test("are isolated from each other and the main tenant over shared connections", async () => {
    const places: Record<string, Record<string, string>> = { main: {}, a: run("a"), b: run("b") };
    const people = Object.fromEntries(
      await Promise.all(
        Object.entries(places).map(
          async ([name, headers]) =>
            [name, await bootstrap(service, headers, `first@${name}.example.com`)] as const,
        ),
      ),
    );
    const rounds = Array.from({ length: 25 }, (_value, index) => index);
    await Promise.all(
      Object.entries(places).flatMap(([name, headers]) =>
        rounds.map(async (round) => {
          const { token, id } = people[name] ?? { token: "", id: "" };
          const at = round % 2 === 0 ? service : other;
          const created = await at.ask(
            `mutation ($i: CreateCampaignInput!) { createCampaign(input: $i) { title status medium author { email } } }`,
            {
              token,
              headers,
              variables: {
                i: {
                  title: `${name} ${round}`,
                  price: "1",
                  medium: "WEB",
                  scheduledAt: "2026-09-01T08:00:00Z",
                  authorUserId: id,
                },
              },
            },
          );
          expect(created.data).toEqual({
            createCampaign: {
              title: `${name} ${round}`,
              status: "DRAFT",
              medium: "WEB",
              author: { email: `first@${name}.example.com` },
            },
          });
        }),
      ),
    );
    for (const [name, headers] of Object.entries(places)) {
      const { token, id } = people[name] ?? { token: "", id: "" };
      const seen = await service.ask(
        '{ me { id } users { email roles { name } } campaigns { title } auditLogs(input: { operation: "CREATE", entityType: "Campaign" }) { total } }',
        { token, headers },
      );
      expect(seen.errors).toBeUndefined();
      expect(seen.data.me.id).toBe(id);
      expect(seen.data.users).toEqual([
        { email: `first@${name}.example.com`, roles: [{ name: "Superadmin" }] },
      ]);
      const titles = seen.data.campaigns
        .map((campaign: { title: string }) => campaign.title)
        .sort();
      expect(titles).toEqual(rounds.map((round) => `${name} ${round}`).sort());
      expect(seen.data.auditLogs.total).toBe(25);
    }
    // A session is valid only in its own tenant.
    for (const [name, headers] of Object.entries(places))
      for (const [owner, { token }] of Object.entries(people)) {
        const me = await service.ask("{ me { email } }", { token, headers });
        expect(me.data.me?.email ?? null).toBe(owner === name ? `first@${name}.example.com` : null);
      }
  });

  test("have the same schema as the main tenant, including comments", async () => {
    await bootstrap(service, run("shape"), "one@example.com");
    const client = await service.database.pool.connect();
    try {
      const main = await dumpSchema(client, "backoffice");
      expect(main.length).toBeGreaterThan(20_000);
      expect(await dumpSchema(client, "backoffice_e2e_shape")).toBe(main);
    } finally {
      client.release();
    }
  });

  test("are created once in ten concurrent first requests, within seconds", async () => {
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        const answer = await service.ask(loginOfNobody, { headers: run("once") });
        expect(answer).toMatchObject({
          status: 200,
          errors: [{ extensions: { code: "UNAUTHENTICATED" } }],
        });
      }),
    );
    const made = await waitFor("the line in the log", () => {
      const found = [
        ...service
          .output()
          .matchAll(/"tenant":"backoffice_e2e_once","ms":(\d+),.*"test tenant created"/g),
      ];
      return found.length > 0 && found;
    });
    expect(made).toHaveLength(1);
    expect(Number(made[0]?.[1])).toBeLessThan(40_000);
  });

  test("are created by two servers concurrently", async () => {
    const answers = await Promise.all(
      [service, other, service, other].map((at) => at.ask(loginOfNobody, { headers: run("both") })),
    );
    for (const answer of answers)
      expect(answer.errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
    await bootstrap(service, run("both"), "one@example.com");
  });

  test.each([
    ["with quotes", `a"; drop schema backoffice; --`],
    ["with single quotes", "a'b"],
    ["with slashes", "../a"],
    ["with capitals", "Run1"],
    ["with a dash", "run-1"],
    ["with a space", "run 1"],
    ["of 41 characters", "x".repeat(41)],
    ["of 4,000 characters", "x".repeat(4_000)],
    ["with other letters", "\u00e4"],
    ["empty", ""],
    ["of spaces", "   "],
  ])("cannot have an id %s", async (_name, id) => {
    const before = await tenantsOf(service);
    for (const query of ["{ __typename }", "mutation { cleanupTestRun }"]) {
      const answer = await send(service.url, {
        headers: [
          ["content-type", "application/json"],
          ["X-Test-run-id", id],
        ],
        body: JSON.stringify({ query }),
      });
      expect(answer).toMatchObject({
        status: 200,
        json: {
          errors: [
            {
              message: "X-Test-run-id must be 1 to 40 of a-z, 0-9 and _",
              extensions: { code: "BAD_USER_INPUT", header: "X-Test-run-id" },
            },
          ],
        },
      });
    }
    expect(await tenantsOf(service)).toEqual(before);
  });

  test("cannot be named twice in a request", async () => {
    for (const ids of [
      ["a", "b"],
      ["a", "a"],
    ]) {
      const answer = await send(service.url, {
        headers: [
          ["content-type", "application/json"],
          ...ids.map((id): [string, string] => ["X-Test-run-id", id]),
        ],
        body: `{"query":"{ __typename }"}`,
      });
      expect(answer.json.errors[0].extensions.code).toBe("BAD_USER_INPUT");
    }
  });

  test("can have an id of 40 characters, and ids that differ only in the last one", async () => {
    const ids = ["x".repeat(40), `${"x".repeat(39)}y`];
    await Promise.all(ids.map((id, index) => bootstrap(service, run(id), `p${index}@example.com`)));
    expect((await tenantsOf(service)).filter((name) => name.startsWith("xxx"))).toEqual(ids);
    for (const id of ids) expect((await cleanUp(service, id)).data.cleanupTestRun).toBe(true);
  });

  test("are not created for requests that are rejected early", async () => {
    for (const query of ["{ nothing }", "{", "mutation { cleanupTestRun me }"])
      await service.ask(query, { headers: run("never") });
    expect(await tenantsOf(service)).not.toContain("never");
  });
});
