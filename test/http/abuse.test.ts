import { waitFor } from "../helpers/waitFor.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  address,
  attemptsAt,
  codesOf,
  devLogin,
  leaveAttempts,
  limited as env,
  perMinute,
} from "../helpers/attempts.ts";
import { send } from "../helpers/http.ts";
import { type Service, startService, startServerProcess } from "../helpers/service.ts";

let service: Service;
/** A second server process on the same database. */
let sibling: Service;
/** A server behind one proxy. */
let proxied: Service;

beforeAll(async () => {
  service = await startService({ env });
  const { database } = service;
  sibling = await startServerProcess({ env, database });
  proxied = await startService({ env: { ...env, TRUSTED_PROXIES: "1" }, database });
  await service.login([], "dora@example.com");
});
afterAll(async () => {
  await proxied.stop();
  await sibling.stop();
  await service.stop();
});
beforeEach(() => sql("delete from attempt_counts"));

async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

const logIn = (email: string, at = service, headers: Record<string, string> = {}) =>
  devLogin(at, email, headers);
const countOf = (step: string) => attemptsAt(service, step);
const leave = (attempts: number) => leaveAttempts(service, "devLogin", attempts);

describe("Attempts to log in", () => {
  test("are limited to thirty a minute per address, for all users and outcomes together", async () => {
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

  test("are allowed again a minute after the first one", async () => {
    await leave(0);
    expect(codesOf(await logIn("dora@example.com"))).toEqual(["RATE_LIMITED"]);
    await sql("update attempt_counts set started_at = started_at - interval '50 seconds'");
    const late = await logIn("dora@example.com");
    expect(late.errors?.[0]?.extensions.retryAfter).toBeLessThanOrEqual(10);
    await sql("update attempt_counts set started_at = started_at - interval '11 seconds'");
    expect((await logIn("dora@example.com")).errors).toBeUndefined();
    expect(await countOf("devLogin")).toEqual([1]);
  });

  test("are counted correctly when the clock is set back", async () => {
    await leave(0);
    await sql("update attempt_counts set started_at = now() + interval '1 day'");
    expect((await logIn("dora@example.com")).errors).toBeUndefined();
  });

  test("are limited per account across all addresses, in every spelling", async () => {
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

  test("count in documents that fail and in those whose client disconnects", async () => {
    const half = await service.ask(
      `mutation ($email: String!) { devLogin(email: $email) { __typename } bootstrapFirstUser(email: $email) { __typename } }`,
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

  test("are counted across two server processes, with fifty concurrent requests", async () => {
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

  test("cannot be multiplied by addresses in untrusted headers", async () => {
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
    // Behind a trusted proxy only the address that it appended counts.
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

  test("beyond the limit are logged and add no audit rows", async () => {
    await leave(0);
    const answer = await logIn(address());
    const correlationId = answer.headers.get("x-correlation-id");
    const line = new RegExp(`"correlationId":"${correlationId}".*"too many attempts`);
    await waitFor("the log's line", () => line.test(service.output()));
    expect(await sql("select from audit_log where correlation_id = $1", [correlationId])).toEqual(
      [],
    );
  });
});
