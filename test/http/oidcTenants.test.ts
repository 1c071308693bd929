import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import { exchange, codeOf, frontEnd, startLoginService, visit } from "../helpers/loginFlow.ts";
import { address, verified } from "../helpers/loginPeople.ts";
import type { Service } from "../helpers/service.ts";
import { tenantsOf, bootstrap, run, testMode } from "../helpers/http/testRuns.ts";

let fake: FakeProvider;

beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.stop());

const loginPath = `/auth/login?${new URLSearchParams({ provider: "main", returnTo: frontEnd }).toString()}`;

/** A login of a browser that sends the same header with every request of a step. */
async function logIn(
  service: Service,
  email: string,
  steps: { login: Record<string, string>; callback: Record<string, string> },
): Promise<Response> {
  const started = await visit(service, loginPath, steps.login);
  const authorization = new URL(started.headers.get("location") ?? "none:");
  const query = new URLSearchParams({
    state: authorization.searchParams.get("state") ?? "",
    code: fake.grant(authorization, { claims: verified(email) }),
  });
  const cookie = started.headers.get("set-cookie")?.split(";")[0] ?? "";
  return visit(service, `/auth/callback/main?${query.toString()}`, { ...steps.callback, cookie });
}

describe("with test mode on, a login through a provider", () => {
  let service: Service;
  beforeAll(async () => {
    service = await startLoginService(fake, ["main"], { env: testMode });
  });
  afterAll(() => service.stop());

  test("acts only in the tenant of its requests", async () => {
    const email = address();
    const { id } = await bootstrap(service, run("login"), email);
    const back = await logIn(service, email, { login: run("login"), callback: run("login") });
    const code = await codeOf(back);
    expect((await exchange(service, code)).errors).toMatchObject([
      { extensions: { code: "UNAUTHENTICATED" } },
    ]);
    const login = await exchange(service, code, { headers: run("login") });
    const { token, user } = login.data.exchangeLoginCode;
    expect(user.id).toBe(id);
    const me = (headers: Record<string, string>) =>
      service.ask("{ me { id } }", { token, headers });
    expect((await me(run("login"))).data.me.id).toBe(id);
    expect((await me({})).data.me).toBeNull();

    const external = await logIn(service, email, { login: {}, callback: {} });
    expect(external.status).toBe(403);
    await bootstrap(service, run("elsewhere"), address());
    const elsewhere = await logIn(service, email, {
      login: run("elsewhere"),
      callback: run("elsewhere"),
    });
    expect(elsewhere.status).toBe(403);
  });

  test("cannot be finished in another tenant", async () => {
    const email = address();
    await bootstrap(service, run("begun"), email);
    await bootstrap(service, run("finished"), address());
    for (const callback of [{}, run("finished")]) {
      const back = await logIn(service, email, { login: run("begun"), callback });
      expect(back.status).toBe(400);
      expect(await back.text()).toContain("This login cannot be finished");
    }
  });

  test("is rejected with a page for an unknown test run, and creates no tenant", async () => {
    const before = await tenantsOf(service);
    for (const path of [loginPath, "/auth/callback/main?state=x&code=y"]) {
      const refused = await visit(service, path, run("absent"));
      expect([path, refused.status]).toEqual([path, 404]);
      expect(await refused.text()).toContain("This test run does not exist");
    }
    expect(await tenantsOf(service)).toEqual(before);
  });

  test("is rejected with a page for an invalid id of a test run, and creates no tenant", async () => {
    const before = await tenantsOf(service);
    for (const path of [loginPath, "/auth/callback/main?state=x&code=y", "/auth/done"]) {
      const refused = await visit(service, path, run("NOT valid"));
      expect([path, refused.status]).toEqual([path, 400]);
      expect(await refused.text()).toContain("X-Test-run-id must be 1 to 40 of a-z, 0-9 and _");
    }
    expect(await tenantsOf(service)).toEqual(before);
  });
});

describe("with test mode off, the header X-Test-run-id", () => {
  let service: Service;
  beforeAll(async () => {
    service = await startLoginService(fake, ["main"]);
  });
  afterAll(() => service.stop());

  test.each([loginPath, "/auth/login", "/auth/callback/main?state=x&code=y", "/auth/done"])(
    "is rejected at %s before any work",
    async (path) => {
      for (const id of ["run1", "NOT valid"]) {
        const refused = await visit(service, path, run(id));
        expect(refused.status).toBe(400);
        expect(refused.headers.get("set-cookie")).toBeNull();
        expect(await refused.text()).toContain(
          "Test mode is not enabled: leave the header X-Test-run-id out.",
        );
      }
      const { rows } = await service.database.pool.query("select from login_attempts");
      expect(rows).toEqual([]);
    },
  );
});
