import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { dumpSchema } from "../../db/dump/dumpSchema.ts";
import { waitFor } from "../embedded/waitFor.ts";
import { send, timed } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";

const env = { ENABLE_E2E_TEST_MODE: "true", DATABASE_POOL_SIZE: "3" };
const run = (id: string) => ({ "x-test-run-id": id });

let service: Service;
let other: Service;

beforeAll(async () => {
  service = await startService({ env });
  other = await startService({ env, database: service.database });
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

async function areas(): Promise<string[]> {
  const { rows } = await service.database.pool.query<{ name: string }>(
    "select nspname as name from pg_namespace where nspname like 'backoffice\\_e2e\\_%' order by 1",
  );
  return rows.map((row) => row.name.slice("backoffice_e2e_".length));
}

/** The first user of an area. */
async function bootstrap(
  headers: Record<string, string>,
  email: string,
  at = service,
): Promise<{ token: string; id: string }> {
  const answer = await at.ask(
    `mutation ($e: String!) { bootstrapFirstUser(email: $e) { token user { id } } }`,
    { headers, variables: { e: email } },
  );
  expect(answer.errors).toBeUndefined();
  const { token, user } = answer.data.bootstrapFirstUser;
  return { token, id: user.id };
}

const cleanUp = (id: string, at = service) =>
  at.ask("mutation { cleanupTestRun }", { headers: run(id) });

describe("test runs", () => {
  test("and the main area, used at the same time over few connections, see nothing of each other", async () => {
    const places: Record<string, Record<string, string>> = { main: {}, a: run("a"), b: run("b") };
    const people = Object.fromEntries(
      await Promise.all(
        Object.entries(places).map(
          async ([name, headers]) =>
            [name, await bootstrap(headers, `first@${name}.example.com`)] as const,
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
    // A login is worth something in its own area only.
    for (const [name, headers] of Object.entries(places))
      for (const [owner, { token }] of Object.entries(people)) {
        const me = await service.ask("{ me { email } }", { token, headers });
        expect(me.data.me?.email ?? null).toBe(owner === name ? `first@${name}.example.com` : null);
      }
  });

  test("have the same shape as the main area, to the last comment", async () => {
    await service.ask("{ __typename }", { headers: run("shape") });
    const client = await service.database.pool.connect();
    try {
      const main = await dumpSchema(client, "backoffice");
      expect(main.length).toBeGreaterThan(20_000);
      expect(await dumpSchema(client, "backoffice_e2e_shape")).toBe(main);
    } finally {
      client.release();
    }
  });

  test("are made once, of ten first uses at the same time, and within two seconds", async () => {
    const { ms } = await timed(() =>
      Promise.all(
        Array.from({ length: 10 }, async () => {
          const answer = await service.ask("{ __typename }", { headers: run("once") });
          expect(answer).toMatchObject({ status: 200, data: { __typename: "Query" } });
        }),
      ),
    );
    const made = await waitFor("the line in the log", () => {
      const found = [
        ...service.output().matchAll(/test area backoffice_e2e_once made in (\d+) ms/g),
      ];
      return found.length > 0 && found;
    });
    expect(made).toHaveLength(1);
    expect(ms).toBeLessThan(5_000);
    expect(Number(made[0]?.[1])).toBeLessThan(4_000);
  });

  test("are made by two servers at once without harm", async () => {
    const answers = await Promise.all(
      [service, other, service, other].map((at) =>
        at.ask("{ __typename }", { headers: run("both") }),
      ),
    );
    for (const answer of answers) expect(answer.errors).toBeUndefined();
    await bootstrap(run("both"), "one@example.com");
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
  ])("may not have an id %s", async (_name, id) => {
    const before = await areas();
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
    expect(await areas()).toEqual(before);
  });

  test("may not be named twice", async () => {
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

  test("may have an id of 40 characters, and one that differs only at its end", async () => {
    const ids = ["x".repeat(40), `${"x".repeat(39)}y`];
    await Promise.all(ids.map((id, index) => bootstrap(run(id), `p${index}@example.com`)));
    expect((await areas()).filter((name) => name.startsWith("xxx"))).toEqual(ids);
    for (const id of ids) expect((await cleanUp(id)).data.cleanupTestRun).toBe(true);
  });

  test("are not made for what is refused before it is looked at", async () => {
    for (const query of ["{ nothing }", "{", "mutation { cleanupTestRun me }"])
      await service.ask(query, { headers: run("never") });
    expect(await areas()).not.toContain("never");
  });
});

describe("cleaning up", () => {
  test("removes all of a run, needs no login, and can be repeated", async () => {
    await bootstrap(run("gone"), "one@example.com");
    expect(await areas()).toContain("gone");
    for (let round = 0; round < 3; round++)
      expect(await cleanUp("gone")).toMatchObject({ status: 200, data: { cleanupTestRun: true } });
    expect(await areas()).not.toContain("gone");
    const { rows } = await service.database.pool.query(
      "select from office_jobs.areas where area = 'backoffice_e2e_gone'",
    );
    expect(rows).toEqual([]);
  });

  test("makes nothing first, whatever form the operation has", async () => {
    for (const [query, operationName] of [
      ["mutation { cleanupTestRun }"],
      ["mutation Tidy { done: cleanupTestRun __typename }", "Tidy"],
      ["query Me { me { id } } mutation Tidy { cleanupTestRun }", "Tidy"],
      ["mutation { ...Tidy } fragment Tidy on Mutation { ... { cleanupTestRun } }"],
    ] as const) {
      const answer = await send(service.url, {
        headers: { ...run("unmade") },
        body: JSON.stringify({ query, operationName }),
      });
      expect(answer.json.errors).toBeUndefined();
    }
    await Promise.all(Array.from({ length: 5 }, () => cleanUp("unmade")));
    expect(service.output()).not.toContain("backoffice_e2e_unmade");
    expect(await areas()).not.toContain("unmade");
  });

  test("ignores who asks: a token of the run, of nobody or of the main area", async () => {
    const { token } = await bootstrap(run("whoever"), "one@example.com");
    const answer = await service.ask("mutation { cleanupTestRun }", {
      token,
      headers: run("whoever"),
    });
    expect(answer.data.cleanupTestRun).toBe(true);
    expect(
      (await service.ask("mutation { cleanupTestRun }", { token, headers: run("whoever") })).data
        .cleanupTestRun,
    ).toBe(true);
  });

  test.each([
    "mutation { cleanupTestRun deleteAllCampaigns }",
    `mutation { bootstrapFirstUser(email: "a@example.com") { token } cleanupTestRun }`,
    "mutation { ...A cleanupTestRun } fragment A on Mutation { logout }",
  ])("is not mixed with what would work in the area: %s", async (query) => {
    const answer = await service.ask(query, { headers: run("mixed") });
    expect(answer.errors).toMatchObject([
      {
        message: "cleanupTestRun must be the only field of its operation",
        extensions: { code: "BAD_USER_INPUT" },
      },
    ]);
    expect(answer.data ?? null).toBeNull();
  });

  test("needs the header, and leaves the main area alone", async () => {
    const answer = await service.ask("mutation { cleanupTestRun }");
    expect(answer.errors).toMatchObject([
      { message: expect.stringContaining("X-Test-run-id"), extensions: { code: "BAD_USER_INPUT" } },
    ]);
    const { rows } = await service.database.pool.query(
      "select to_regnamespace('backoffice') is not null as there",
    );
    expect(rows).toEqual([{ there: true }]);
  });

  test("by one server is known to the other, which serves the run afresh", async () => {
    for (let round = 0; round < 3; round++) {
      const { token } = await bootstrap(run("fresh"), "one@example.com", service);
      const { token: late, id } = await inviteAndLogin(token);
      expect(
        (
          await other.ask("{ me { id } campaigns { status } }", {
            token: late,
            headers: run("fresh"),
          })
        ).data.me.id,
      ).toBe(id);
      expect((await cleanUp("fresh", service)).data.cleanupTestRun).toBe(true);
      // Twice, since a connection may remember plans of what is gone.
      for (let again = 0; again < 6; again++) {
        const me = await other.ask("{ me { id } }", { token: late, headers: run("fresh") });
        expect(me).toMatchObject({
          status: 200,
          data: { me: null },
          errors: [{ extensions: { code: "UNAUTHENTICATED" } }],
        });
      }
      const recorded = await service.database.pool.query(
        "select from office_jobs.areas where area = 'backoffice_e2e_fresh'",
      );
      expect(recorded.rows).toHaveLength(1);
      expect((await cleanUp("fresh", other)).data.cleanupTestRun).toBe(true);
    }
  });

  async function inviteAndLogin(token: string): Promise<{ token: string; id: string }> {
    const headers = run("fresh");
    const roles = await other.ask("{ roles { id name } }", { token, headers });
    const roleId = roles.data.roles[0].id as string;
    const invited = await other.ask(
      `mutation ($i: CreateInvitationInput!) { createInvitation(input: $i) { userId } }`,
      {
        token,
        headers,
        variables: { i: { email: "two@example.com", roleId } },
      },
    );
    const id = invited.data.createInvitation.userId as string;
    await other.ask(`mutation ($u: ID!) { activateUser(userId: $u) { id } }`, {
      token,
      headers,
      variables: { u: id },
    });
    const login = await other.ask(`mutation { devLogin(email: "two@example.com") { token } }`, {
      headers,
    });
    return { token: login.data.devLogin.token, id };
  }

  test("while requests run in the area is no unexpected error for them", async () => {
    const codes = new Set<string>();
    const work = async (at: Service, round: number) => {
      const answer = await at.ask(
        `mutation { bootstrapFirstUser(email: "p${round}@example.com") { token user { id roles { name } } } }`,
        { headers: run("busy") },
      );
      for (const error of answer.errors ?? []) codes.add(error.extensions.code);
      expect(answer.status).toBe(200);
    };
    await Promise.all(
      Array.from({ length: 24 }, (_value, round) =>
        round % 6 === 5
          ? cleanUp("busy", round % 4 === 1 ? service : other)
          : work(round % 2 === 0 ? service : other, round),
      ),
    );
    expect([...codes].filter((code) => code !== "CONFLICT")).toEqual([]);
    await cleanUp("busy");
  });

  test("while one request runs is told to it in words", async () => {
    const { token } = await bootstrap(run("half"), "one@example.com");
    await service.database.pool.query("drop table backoffice_e2e_half.campaigns cascade");
    const answer = await service.ask("{ campaigns { id } }", { token, headers: run("half") });
    expect(answer.errors).toMatchObject([
      {
        message: "The test run was cleaned up while this request ran: send it again",
        extensions: { code: "CONFLICT" },
      },
    ]);
    await cleanUp("half");
  });
});

test("Ten test areas are made at once, by one server with few connections.", async () => {
  const ids = Array.from({ length: 10 }, (_value, index) => `many${index}`);
  const { ms } = await timed(() =>
    Promise.all(ids.map((id) => bootstrap(run(id), "one@example.com"))),
  );
  expect(ms).toBeLessThan(40_000);
  for (const id of ids) expect((await cleanUp(id)).data.cleanupTestRun).toBe(true);
}, 60_000);
