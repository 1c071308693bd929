import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { makeLoginCode } from "../../src/auth/oidc/loginCode.ts";
import {
  address,
  attemptsAt,
  codesOf,
  devLogin,
  leaveAttempts,
  limited as env,
  perMinute,
} from "../helpers/attempts.ts";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import {
  codeOf,
  requestCallback,
  exchange,
  frontEnd,
  fullLogin,
  startLoginService,
  visit,
} from "../helpers/loginFlow.ts";
import { verified } from "../helpers/loginPeople.ts";
import type { Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main"], { env });
  await service.login([], "dora@example.com");
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});
beforeEach(() => sql("delete from attempt_counts"));

async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

const leave = (step: string, attempts: number) => leaveAttempts(service, step, attempts);

describe("Attempts to log in", () => {
  test("are counted separately for each step of a login", async () => {
    await leave("devLogin", 0);
    const bootstrap = () =>
      service.ask(`mutation { bootstrapFirstUser(email: "mallory@example.com") { token } }`);
    expect(codesOf(await bootstrap())).toEqual(["CONFLICT"]);
    await leave("bootstrapFirstUser", 1);
    expect(codesOf(await bootstrap())).toEqual(["RATE_LIMITED"]);
    expect(await attemptsAt(service, "bootstrapFirstUser", "account")).toEqual([2]);

    await leave("exchangeLoginCode", 1);
    expect(codesOf(await exchange(service, makeLoginCode()))).toEqual(["UNAUTHENTICATED"]);
    expect(codesOf(await exchange(service, "nonsense"))).toEqual(["RATE_LIMITED"]);
  });

  test("through a provider are answered 429 with the time to wait, on a page", async () => {
    await leave("login", 1);
    await leave("callback", 1);
    const login = () =>
      visit(service, `/auth/login?provider=main&returnTo=${encodeURIComponent(frontEnd)}`);
    const callback = () =>
      requestCallback(service, { state: "x".repeat(43), cookie: "" }, { code: "c" });
    expect([(await login()).status, (await callback()).status]).toEqual([302, 400]);
    for (const refused of [await login(), await callback()]) {
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(60);
      expect(refused.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(await refused.text()).toMatch(
        /Too many attempts to log in: try again in \d+ seconds?\./,
      );
    }
  });
});

describe("Attempts at one account from any address", () => {
  /** Uses up an account's attempts at a step. */
  const spend = (step: string, account: string) =>
    sql("select count_attempt($1, null, $2, 1) from generate_series(1, $3)", [
      step,
      account,
      perMinute,
    ]);
  const claims = (sub: string) => verified("dora@example.com", sub);
  const issuer = () => fake.settings("main").issuer;

  test("count per account of the provider when the browser returns from it", async () => {
    const back = await fullLogin(service, fake, { claims: claims("dora") });
    expect(back.status).toBe(303);
    expect(await attemptsAt(service, "callback", "account")).toEqual([1]);
    await spend("callback", `${issuer()} dora`);
    const refused = await fullLogin(service, fake, { claims: claims("dora") });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expect(await refused.text()).toMatch(/Too many attempts to log in/);
  });

  test("count when they are refused, and not for another account with the same address", async () => {
    for (let attempt = 0; attempt < 3; attempt++)
      expect((await fullLogin(service, fake, { claims: claims("mallory") })).status).toBe(403);
    expect(await attemptsAt(service, "callback", "account")).toEqual([3]);
    await spend("callback", `${issuer()} mallory`);
    expect((await fullLogin(service, fake, { claims: claims("mallory") })).status).toBe(429);
    expect((await fullLogin(service, fake, { claims: claims("dora") })).status).toBe(303);
  });

  test("count per user when a code is exchanged, and the code stays valid meanwhile", async () => {
    const code = await codeOf(await fullLogin(service, fake, { claims: claims("dora") }));
    const [dora] = await sql<{ id: string }>(
      "select id from users where email = 'dora@example.com'",
    );
    await spend("exchangeLoginCode", dora?.id ?? "");
    const refused = await exchange(service, code);
    expect(refused.errors).toMatchObject([
      { extensions: { code: "RATE_LIMITED", retryAfter: expect.any(Number) } },
    ]);
    expect(refused.errors?.[0]?.extensions.retryAfter).toBeLessThanOrEqual(60);
    await sql("update attempt_counts set started_at = started_at - interval '61 seconds'");
    expect((await exchange(service, code)).data.exchangeLoginCode.user.id).toBe(dora?.id);
  });

  test("count each alias of a document, and unknown codes for no account", async () => {
    const code = await codeOf(await fullLogin(service, fake, { claims: claims("dora") }));
    const aliases = Array.from(
      { length: 5 },
      (_value, index) =>
        `a${index}: exchangeLoginCode(code: "${index < 3 ? code : makeLoginCode()}", returnTo: "${frontEnd}") { token }`,
    );
    await sql("delete from attempt_counts");
    await service.ask(`mutation { ${aliases.join(" ")} }`);
    // The first one used up the code, so later ones belong to no account.
    expect(await attemptsAt(service, "exchangeLoginCode", "account")).toEqual([1]);
    expect(await attemptsAt(service, "exchangeLoginCode")).toEqual([5]);

    const again = await codeOf(await fullLogin(service, fake, { claims: claims("dora") }));
    await sql("delete from attempt_counts");
    const document = ["a", "b", "c"].map(
      (alias) =>
        `${alias}: exchangeLoginCode(code: "${again}", returnTo: "https://other.example/app/") { token }`,
    );
    await service.ask(`mutation { ${document.join(" ")} }`);
    expect(await attemptsAt(service, "exchangeLoginCode")).toEqual([3]);
    expect(await attemptsAt(service, "exchangeLoginCode", "account")).toEqual([1]);
  });
});

describe("The stored attempts", () => {
  test("name neither addresses nor people, and expire", async () => {
    await devLogin(service, "dora@example.com");
    const kept = await sql<{ text: string }>("select c::text as text from attempt_counts c");
    expect(kept).toHaveLength(2);
    for (const { text } of kept) expect(text).not.toMatch(/dora|127\.0\.0\.1/);
    await sql("update attempt_counts set started_at = started_at - interval '3 minutes'");
    await devLogin(service, address());
    expect(await attemptsAt(service, "devLogin")).toEqual([1]);
  });

  test("can be neither read nor written by a request", async () => {
    for (const statement of [
      "select * from attempt_counts",
      "delete from attempt_counts",
      "select count_attempt('devLogin', '192.0.2.1', null, 1)",
      "select login_code_account('x')",
    ])
      for (const role of ["office_api", "office_worker"]) {
        const client = await service.database.pool.connect();
        await client.query(`begin; set local role ${role}`);
        await expect(client.query(statement)).rejects.toThrow(/permission denied/);
        await client.query("rollback");
        client.release();
      }
  });
});
