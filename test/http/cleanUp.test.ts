import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { send } from "../helpers/http.ts";
import { type Service, startService, startServerProcess } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
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

describe("cleaning up", () => {
  test("removes the whole run, needs no login, and can be repeated", async () => {
    await bootstrap(service, run("gone"), "one@example.com");
    expect(await tenantsOf(service)).toContain("gone");
    for (let round = 0; round < 3; round++)
      expect(await cleanUp(service, "gone")).toMatchObject({
        status: 200,
        data: { cleanupTestRun: true },
      });
    expect(await tenantsOf(service)).not.toContain("gone");
    const { rows } = await service.database.pool.query(
      "select from office_jobs.tenants where tenant = 'backoffice_e2e_gone'",
    );
    expect(rows).toEqual([]);
  });

  test("creates no tenant, in any form of the operation", async () => {
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
    await Promise.all(Array.from({ length: 5 }, () => cleanUp(service, "unmade")));
    expect(service.output()).not.toContain("backoffice_e2e_unmade");
    expect(await tenantsOf(service)).not.toContain("unmade");
  });

  test("ignores the token: the run's, an invalid or the main tenant's", async () => {
    const { token } = await bootstrap(service, run("whoever"), "one@example.com");
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
  ])("cannot be combined with operations in the tenant: %s", async (query) => {
    const answer = await service.ask(query, { headers: run("mixed") });
    expect(answer.errors).toMatchObject([
      {
        message: "cleanupTestRun must be the only field of its operation",
        extensions: { code: "BAD_USER_INPUT" },
      },
    ]);
    expect(answer.data ?? null).toBeNull();
  });

  test("requires the header, and leaves the main tenant unchanged", async () => {
    const answer = await service.ask("mutation { cleanupTestRun }");
    expect(answer.errors).toMatchObject([
      { message: expect.stringContaining("X-Test-run-id"), extensions: { code: "BAD_USER_INPUT" } },
    ]);
    const { rows } = await service.database.pool.query(
      "select to_regnamespace('backoffice') is not null as there",
    );
    expect(rows).toEqual([{ there: true }]);
  });

  test("by one server is seen by another, which creates the tenant again", async () => {
    for (let round = 0; round < 3; round++) {
      const { token } = await bootstrap(service, run("fresh"), "one@example.com");
      const { token: late, id } = await inviteAndLogin(token);
      expect(
        (
          await other.ask("{ me { id } campaigns { status } }", {
            token: late,
            headers: run("fresh"),
          })
        ).data.me.id,
      ).toBe(id);
      expect((await cleanUp(service, "fresh")).data.cleanupTestRun).toBe(true);
      // Twice, because a connection may have plans for dropped tables.
      for (let again = 0; again < 6; again++) {
        const me = await other.ask("{ me { id } }", { token: late, headers: run("fresh") });
        expect(me).toMatchObject({
          status: 200,
          data: { me: null },
          errors: [{ extensions: { code: "UNAUTHENTICATED" } }],
        });
      }
      const recorded = await service.database.pool.query(
        "select from office_jobs.tenants where tenant = 'backoffice_e2e_fresh'",
      );
      // A token of a dropped tenant creates no new tenant.
      expect(recorded.rows).toHaveLength(0);
      expect((await cleanUp(other, "fresh")).data.cleanupTestRun).toBe(true);
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

  test("during requests in the tenant causes no internal error", async () => {
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
          ? cleanUp(round % 4 === 1 ? service : other, "busy")
          : work(round % 2 === 0 ? service : other, round),
      ),
    );
    expect([...codes].filter((code) => code !== "CONFLICT")).toEqual([]);
    await cleanUp(service, "busy");
  });

  test("during a request causes CONFLICT for that request", async () => {
    const { token } = await bootstrap(service, run("half"), "one@example.com");
    await service.database.pool.query("drop table backoffice_e2e_half.campaigns cascade");
    const answer = await service.ask("{ campaigns { id } }", { token, headers: run("half") });
    expect(answer.errors).toMatchObject([
      {
        message: "The test run was cleaned up while this request ran: send it again",
        extensions: { code: "CONFLICT" },
      },
    ]);
    await cleanUp(service, "half");
  });
});

test("one server with few connections creates ten tenants at the same time", async () => {
  const ids = Array.from({ length: 10 }, (_value, index) => `many${index}`);
  // On a busy machine one of them may wait too long for a connection and get 503.
  const make = (id: string) =>
    waitFor(`the tenant ${id}`, async () => {
      const { errors } = await service.ask(
        `mutation { bootstrapFirstUser(email: "one@example.com") { token } }`,
        { headers: run(id) },
      );
      if (errors?.[0]?.extensions.code === "UNAVAILABLE") return false;
      expect(errors).toBeUndefined();
      return true;
    });
  await Promise.all(ids.map(make));
  for (const id of ids) expect((await cleanUp(service, id)).data.cleanupTestRun).toBe(true);
});
