import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { makeLoginCode } from "../../src/auth/oidc/loginCode.ts";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import { send } from "../helpers/http.ts";
import { comeBack, exchange, frontEnd, startLoginService, visit } from "../helpers/loginFlow.ts";
import type { Answer, Service } from "../helpers/service.ts";

/** What an address, and an account, has in a minute by default. */
const perMinute = 30;
/** Empty: the default. */
const env = { LOGIN_ATTEMPTS_PER_MINUTE: "" };

let fake: FakeProvider;
let service: Service;
/** A second server process on the same database. */
let sibling: Service;
/** A server behind one proxy. */
let proxied: Service;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main"], { env });
  const { database } = service;
  sibling = await startLoginService(fake, ["main"], { env, database });
  proxied = await startLoginService(fake, ["main"], {
    env: { ...env, TRUSTED_PROXIES: "1" },
    database,
  });
  await service.login([], "dora@example.com");
});
afterAll(async () => {
  await proxied.stop();
  await sibling.stop();
  await service.stop();
  await fake.stop();
});
beforeEach(() => sql("delete from attempt_counts"));

async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

const address = () => `${randomUUID()}@example.com`;
const logIn = (email: string, at = service, headers: Record<string, string> = {}) =>
  at.ask(`mutation ($email: String!) { devLogin(email: $email) { token } }`, {
    variables: { email },
    headers,
  });
const codesOf = ({ errors }: Answer) => errors?.map(({ extensions }) => extensions.code) ?? [];
const countOf = async (step: string, kind = "address") =>
  (
    await sql<{ attempts: number }>(
      "select attempts from attempt_counts where step = $1 and subject_kind = $2 order by attempts desc",
      [step, kind],
    )
  ).map(({ attempts }) => attempts);
/** Leaves so many attempts at a step to the address of the tests. */
async function leave(attempts: number, step = "devLogin"): Promise<void> {
  await sql("select count_attempt($1, '127.0.0.1', null, 1) from generate_series(1, $2)", [
    step,
    perMinute - attempts,
  ]);
}

describe("Attempts to log in", () => {
  test("are limited to thirty a minute for an address, whoever they are at and however they end", async () => {
    await leave(2);
    expect((await logIn("dora@example.com")).data.devLogin.token).toMatch(/^bos_/);
    expect(codesOf(await logIn(address()))).toEqual(["UNAUTHENTICATED"]);
    const refused = await logIn("dora@example.com");
    expect(refused).toMatchObject({
      status: 200,
      data: null,
      errors: [
        {
          message: expect.stringMatching(
            /^Too many attempts to log in: try again in \d+ seconds?$/,
          ),
          path: ["devLogin"],
          extensions: { code: "RATE_LIMITED", retryAfter: expect.any(Number) },
        },
      ],
    });
    const wait = refused.errors?.[0]?.extensions.retryAfter as number;
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
  });

  test("have a minute of their own from the first; then all are open again", async () => {
    await leave(0);
    expect(codesOf(await logIn("dora@example.com"))).toEqual(["RATE_LIMITED"]);
    await sql("update attempt_counts set started_at = started_at - interval '50 seconds'");
    const late = await logIn("dora@example.com");
    expect(late.errors?.[0]?.extensions.retryAfter).toBeLessThanOrEqual(10);
    await sql("update attempt_counts set started_at = started_at - interval '11 seconds'");
    expect((await logIn("dora@example.com")).errors).toBeUndefined();
    expect(await countOf("devLogin")).toEqual([1]);
  });

  test("are not lost to a clock that is set back", async () => {
    await leave(0);
    await sql("update attempt_counts set started_at = now() + interval '1 day'");
    expect((await logIn("dora@example.com")).errors).toBeUndefined();
  });

  test("are limited for an account from all addresses together, however it is spelt", async () => {
    await sql(
      "select count_attempt('devLogin', '2001:db8::' || to_hex(i) || ':0:0:0:0:1', 'dora@example.com', 30) from generate_series(1, 28) i",
    );
    const from = (last: number) => ({ "x-forwarded-for": `192.0.2.${last}` });
    expect((await logIn("Dora@Example.com", proxied, from(1))).errors).toBeUndefined();
    expect((await logIn(" dora@example.com\t", proxied, from(2))).errors).toBeUndefined();
    expect(codesOf(await logIn("DORA@example.com", proxied, from(3)))).toEqual(["RATE_LIMITED"]);
    expect(codesOf(await logIn(address(), proxied, from(3)))).toEqual(["UNAUTHENTICATED"]);
  });

  test("count each of many aliases in a document", async () => {
    const fields = Array.from(
      { length: 11 },
      (_value, index) => `a${index}: devLogin(email: $email) { token }`,
    );
    const document = `mutation ($email: String!) { ${fields.join("\n")} }`;
    const ask = (email: string) => service.ask(document, { variables: { email } });
    expect(codesOf(await ask(address()))).toContain("UNAUTHENTICATED");
    expect(await countOf("devLogin")).toEqual([11]);

    const email = address();
    const { userId } = await service.login([], email);
    await sql("delete from sessions where user_id = $1", [userId]);
    await sql("delete from attempt_counts");
    await leave(2);
    expect(codesOf(await ask(email))).toEqual(["RATE_LIMITED"]);
    expect(await countOf("devLogin")).toEqual([perMinute - 2 + 11]);
    expect(await sql("select from sessions where user_id = $1", [userId])).toHaveLength(2);
  });

  test("count in a document that fails as a whole, and of one whose answer nobody asks for", async () => {
    const half = await service.ask(
      `mutation ($email: String!) { devLogin(email: $email) { __typename } createRole(input: {name: "x", permissionKeys: []}) { id } }`,
      { variables: { email: address() } },
    );
    expect(half.data).toBeNull();
    expect(codesOf(half)).toContain("UNAUTHENTICATED");
    expect(await countOf("devLogin")).toEqual([1]);
  });

  test("cannot be sent as a batch", async () => {
    const one = { query: `mutation { devLogin(email: "dora@example.com") { token } }` };
    const answer = await send(service.url, { body: JSON.stringify([one, one, one]) });
    expect(answer.status).toBe(400);
    expect(await countOf("devLogin")).toEqual([]);
  });

  test("are counted for two server processes together, fifty at once", async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_value, index) =>
        logIn(address(), index % 2 ? service : sibling),
      ),
    );
    const codes = answers.flatMap(codesOf);
    expect(codes.filter((code) => code === "UNAUTHENTICATED")).toHaveLength(perMinute);
    expect(codes.filter((code) => code === "RATE_LIMITED")).toHaveLength(20);
    expect(await countOf("devLogin")).toEqual([50]);
  });

  test("cannot be multiplied by addresses that only a header tells", async () => {
    await leave(0);
    for (const header of [
      "x-forwarded-for",
      "forwarded",
      "x-real-ip",
      "true-client-ip",
      "cf-connecting-ip",
    ])
      expect(codesOf(await logIn(address(), service, { [header]: "198.51.100.7" }))).toEqual([
        "RATE_LIMITED",
      ]);
    // Behind a proxy that is trusted, what it has added last counts, whatever stood before it.
    for (const forged of [
      "198.51.100.7, 127.0.0.1",
      "::1, 198.51.100.8,127.0.0.1",
      "no address,127.0.0.1",
    ])
      expect(codesOf(await logIn(address(), proxied, { "x-forwarded-for": forged }))).toEqual([
        "RATE_LIMITED",
      ]);
  });

  test("cannot be multiplied by the many addresses of one IPv6 network", async () => {
    for (let index = 0; index < perMinute; index++)
      await logIn(address(), proxied, { "x-forwarded-for": `2001:db8:0:7::${index}:1` });
    const from = (last: string) => ({ "x-forwarded-for": last });
    expect(codesOf(await logIn(address(), proxied, from("2001:db8:0:7:ffff::1")))).toEqual([
      "RATE_LIMITED",
    ]);
    expect(codesOf(await logIn(address(), proxied, from("2001:db8:0:8::1")))).toEqual([
      "UNAUTHENTICATED",
    ]);
  });

  test("of different steps are counted apart, so that a whole login is one of each", async () => {
    await leave(0, "devLogin");
    const bootstrap = () =>
      service.ask(`mutation { bootstrapFirstUser(email: "mallory@example.com") { token } }`);
    expect(codesOf(await bootstrap())).toEqual(["CONFLICT"]);
    await leave(1, "bootstrapFirstUser");
    expect(codesOf(await bootstrap())).toEqual(["RATE_LIMITED"]);
    expect(await countOf("bootstrapFirstUser", "account")).toEqual([2]);

    await leave(1, "exchangeLoginCode");
    expect(codesOf(await exchange(service, makeLoginCode()))).toEqual(["UNAUTHENTICATED"]);
    expect(codesOf(await exchange(service, "nonsense"))).toEqual(["RATE_LIMITED"]);
  });

  test("through a provider are answered 429 with the time to wait, on a page", async () => {
    await leave(1, "login");
    await leave(1, "callback");
    const login = () =>
      visit(service, `/auth/login?provider=main&returnTo=${encodeURIComponent(frontEnd)}`);
    const callback = () => comeBack(service, { state: "x".repeat(43), cookie: "" }, { code: "c" });
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

  test("beyond the limit are told in the log, and fill no audit log", async () => {
    await leave(0);
    const answer = await logIn(address());
    const correlationId = answer.headers.get("x-correlation-id");
    expect(service.output()).toMatch(
      new RegExp(`"correlationId":"${correlationId}".*"too many attempts`),
    );
    expect(await sql("select from audit_log where correlation_id = $1", [correlationId])).toEqual(
      [],
    );
  });
});

describe("What is kept of the attempts", () => {
  test("names neither addresses nor people, and goes away by itself", async () => {
    await logIn("dora@example.com");
    const kept = await sql<{ text: string }>("select c::text as text from attempt_counts c");
    expect(kept).toHaveLength(2);
    for (const { text } of kept) expect(text).not.toMatch(/dora|127\.0\.0\.1/);
    await sql("update attempt_counts set started_at = started_at - interval '3 minutes'");
    await logIn(address(), proxied, { "x-forwarded-for": "192.0.2.200" });
    expect(await countOf("devLogin")).toEqual([1]);
  });

  test("can be neither seen nor changed, nor added to, by a request", async () => {
    for (const statement of [
      "select * from attempt_counts",
      "delete from attempt_counts",
      "select count_attempt('devLogin', '192.0.2.1', null, 1)",
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
