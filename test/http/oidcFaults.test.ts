import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type FakeProvider,
  type Fault,
  type Step,
  startFakeProvider,
} from "../helpers/fakeProvider.ts";
import {
  codeOf,
  requestCallback,
  frontEnd,
  fullLogin,
  startLoginService,
  visit,
} from "../helpers/loginFlow.ts";
import { makeUser } from "../helpers/loginPeople.ts";
import { startProxy } from "../helpers/proxy.ts";
import type { Service } from "../helpers/service.ts";

const faults: Fault[] = ["down", "slow", "500", "malformed", "wrong type", "endless", "array"];
const steps: Step[] = ["discovery", "jwks", "token", "userinfo"];
// A server caches a provider's metadata, so each fault uses a separate provider.
const cases = steps.flatMap((step) =>
  faults.map((fault) => ({ step, fault, tenant: `${step}-${faults.indexOf(fault)}` })),
);

let fake: FakeProvider;
let first: Service;
let second: Service;

beforeAll(async () => {
  fake = await startFakeProvider();
  const tenants = cases.map(({ tenant }) => tenant);
  [first, second] = await Promise.all([
    startLoginService(fake, tenants.slice(0, 14)),
    startLoginService(fake, tenants.slice(14)),
  ]);
});
afterEach(() => {
  fake.heal();
});
afterAll(async () => {
  await Promise.all([first.stop(), second.stop()]);
  await fake.stop();
});

describe("a faulty provider", () => {
  test.each(cases)(
    "at the $step ($fault) causes a clear page in time, and logins work after its recovery",
    async ({ step, fault, tenant }) => {
      const service = cases.findIndex((one) => one.tenant === tenant) < 14 ? first : second;
      const email = `${randomUUID()}@example.com`;
      await makeUser(service, email);
      const sub = randomUUID();
      const person = { sub, email, email_verified: true };
      const grant = { claims: { sub }, userinfo: person };
      const login = () =>
        step === "discovery"
          ? visit(service, `/auth/login?provider=${tenant}`)
          : fullLogin(service, fake, grant, { provider: tenant });

      fake.break(tenant, step, fault);
      const started = performance.now();
      const response = await login();
      const page = await response.text();
      expect(performance.now() - started).toBeLessThan(30_000);
      expect(response.status).toBe(fault === "slow" ? 504 : 502);
      expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(page).toContain(`Fake ${tenant}`);
      expect(page).toContain("Log in again");
      expect(page).toContain(response.headers.get("x-correlation-id"));
      expect(page).not.toMatch(/node_modules|stack|OAUTH_|Error:|Maintenance/);

      fake.heal();
      expect(
        (await codeOf(await fullLogin(service, fake, grant, { provider: tenant }))).length,
      ).toBeGreaterThan(0);
    },
  );

  test("does not prevent the server from starting and serving other requests", async () => {
    fake.break("discovery-0", "discovery", "slow");
    const [slow, answer] = await Promise.all([
      visit(first, `/auth/login?provider=discovery-0&returnTo=${encodeURIComponent(frontEnd)}`),
      first.ask("{ __typename }"),
    ]);
    // A provider's cached metadata is valid for an hour.
    expect(slow.status).toBe(302);
    expect(answer.data).toEqual({ __typename: "Query" });
  });
});

test("an unreachable database causes a clear page, and logins work after its recovery", async () => {
  const proxy = await startProxy(first.database.url);
  const service = await startLoginService(fake, ["outage"], {
    database: { ...first.database, url: proxy.url },
  });
  try {
    await proxy.cut();
    const response = await visit(service, "/auth/login");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await response.text()).toContain("Logging in is not possible just now");
    const lost = await requestCallback(
      service,
      { state: "x", cookie: `__Host-office_login=${"x".repeat(43)}` },
      {},
      "outage",
    );
    expect(lost.status).toBe(503);
    await proxy.restore();
    expect((await visit(service, "/auth/login")).status).toBe(302);
  } finally {
    await service.stop();
    await proxy.stop();
  }
});
