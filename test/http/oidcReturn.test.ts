import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { isAllowedReturn, isReturnPrefix } from "../../src/settings/returnAddress.ts";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import { frontEnd, fullLogin, startLoginService, visit } from "../helpers/loginFlow.ts";
import { makeUser } from "../helpers/loginPeople.ts";
import type { Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main"]);
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});

const allowed = [
  "https://app.example/signed-in",
  "https://other.example/app/",
  "http://127.0.0.1:3000",
];

const good = [
  "https://app.example/signed-in",
  "https://app.example/signed-in/deep/er",
  "https://app.example/signed-in?next=%2Fcampaigns",
  "https://other.example/app/",
  "https://other.example/app/x",
  "http://127.0.0.1:3000",
  "http://127.0.0.1:3000/",
  "http://127.0.0.1:3000/anything",
];

const evil = [
  "",
  "/signed-in",
  "//evil.example/signed-in",
  "///evil.example",
  "\\\\evil.example\\signed-in",
  "/\\evil.example",
  "https:/\\evil.example",
  "https:evil.example",
  "https:\\\\app.example\\signed-in",
  "https://app.example\\@evil.example/signed-in",
  "https://app.example@evil.example/signed-in",
  "https://user@app.example/signed-in",
  "https://user:password@app.example/signed-in",
  "https://@app.example/signed-in",
  "https://app.example.evil.example/signed-in",
  "https://evilapp.example/signed-in",
  "https://app.example./signed-in",
  "https://app.example:443/signed-in",
  "https://app.example:8443/signed-in",
  "http://app.example/signed-in",
  "HTTPS://app.example/signed-in",
  "https://APP.example/signed-in",
  "https://app.example/SIGNED-IN",
  "https://app.example/signed-inx",
  "https://app.example/",
  "https://app.example/signed-in/../evil",
  "https://app.example/signed-in/%2e%2e/evil",
  "https://app.example/signed-in/..%2fevil",
  "https://app.example/signed-in/.%2E/evil",
  "https://app.example/signed-in/%252e%252e/evil",
  "https://app.example/signed-in/..%5cevil",
  "https://app.example/signed-in//evil.example",
  "https://app.example/signed-in#/code",
  "https://app.example/signed-in#",
  "https://app.example/signed-in?code=mine",
  "https://app.example/signed-in?x=1&code=mine",
  "https://app.example/signed-in?%63ode=mine",
  " https://app.example/signed-in",
  "https://app.example/signed-in ",
  "https://app.example/signed-in\r\nset-cookie: a=b",
  "https://app.example/signed-in\t",
  "https://app.example/\tsigned-in",
  "https://app\u3002example/signed-in",
  "https://\uFF41pp.example/signed-in",
  "https://app.ex\u0430mple/signed-in",
  "https%3A%2F%2Fapp.example/signed-in",
  "javascript:alert(1)",
  "JavaScript:alert(1)//https://app.example/signed-in",
  "data:text/html,<script>alert(1)</script>",
  "vbscript:x",
  "blob:https://app.example/signed-in",
  "file:///etc/passwd",
  "https://other.example/app",
  "https://other.example/application",
  "http://127.0.0.1:3001/",
  "http://127.1:3000/",
  "http://2130706433:3000/",
  "http://0x7f000001:3000/",
  "http://[::ffff:7f00:1]:3000/",
  `https://app.example/signed-in?${"x".repeat(3000)}`,
];

describe("the return address of a login", () => {
  test.each(good)("can be %s", (address) => {
    expect(isAllowedReturn(address, allowed)).toBe(true);
  });

  test.each(evil)("cannot be %j", (address) => {
    expect(isAllowedReturn(address, allowed)).toBe(false);
  });

  test("is rejected in every other spelling and never followed", async () => {
    for (const address of evil) {
      const response = await visit(
        service,
        `/auth/login?provider=main&returnTo=${encodeURIComponent(address)}`,
      );
      const page = await response.text();
      expect([address, response.status, response.headers.get("location")]).toEqual([
        address,
        400,
        null,
      ]);
      if (address.length > 5) expect(page.includes(address)).toBe(false);
    }
    const doubled = `returnTo=${encodeURIComponent(frontEnd)}&returnTo=https://evil.example/`;
    expect((await visit(service, `/auth/login?provider=main&${doubled}`)).status).toBe(400);
  });

  test("is the first allowed one by default", async () => {
    const email = `${randomUUID()}@example.com`;
    await makeUser(service, email);
    const started = await visit(service, "/auth/login");
    const authorization = new URL(started.headers.get("location") ?? "");
    const claims = { sub: randomUUID(), email, email_verified: true };
    const query = new URLSearchParams({
      state: authorization.searchParams.get("state") ?? "",
      code: fake.grant(authorization, { claims }),
    });
    const cookie = started.headers.get("set-cookie")?.split(";")[0] ?? "";
    const back = await visit(service, `/auth/callback/main?${query.toString()}`, { cookie });
    expect(back.headers.get("location")).toMatch(/^https:\/\/app\.example\/signed-in\?code=bol_/);
  });

  describe("of the console", () => {
    // The public address of the service in these tests.
    const admin = "https://office.test/admin";

    /** Logs in a new user with this return address. */
    async function logIn(returnTo: string) {
      const email = `${randomUUID()}@example.com`;
      const userId = await makeUser(service, email);
      const claims = { sub: randomUUID(), email, email_verified: true };
      const back = await fullLogin(service, fake, { claims }, { query: { returnTo } });
      return { userId, back };
    }

    test("is always allowed, and gets a session cookie instead of a code", async () => {
      const returnTo = `${admin}/products?q=country%3AItaly`;
      const { userId, back } = await logIn(returnTo);
      expect(back.status).toBe(303);
      expect(back.headers.get("location")).toBe(returnTo);
      const [cookie = ""] = back.headers.getSetCookie();
      expect(cookie).toMatch(
        /^__Host-office_session=bos_[\w-]+; Max-Age=1209600; Path=\/; .*HttpOnly; Secure; SameSite=Strict$/,
      );
      const headers = {
        cookie: cookie.split(";")[0] ?? "",
        "sec-fetch-site": "same-origin",
        "x-office-console": "1",
      };
      const answer = await service.ask("{ me { id } }", { headers });
      expect(answer.data.me.id).toBe(userId);
    });

    test("leaves no code in the database", async () => {
      await logIn(admin);
      const { rows } = await service.database.pool.query(
        "select from login_codes where return_to = $1",
        [admin],
      );
      expect(rows).toEqual([]);
    });

    test.each([
      "https://office.test/administration",
      "https://office.test/",
      "https://office.test/admin/../graphql",
      "https://evil.example/admin",
      "http://office.test/admin",
    ])("is not %s", async (returnTo) => {
      const query = new URLSearchParams({ provider: "main", returnTo });
      expect((await visit(service, `/auth/login?${query.toString()}`)).status).toBe(400);
    });
  });

  test("can be allowed only as a plain address", () => {
    expect(allowed.every(isReturnPrefix)).toBe(true);
    for (const address of [
      "*",
      "https://*",
      "app.example",
      "https://app.example/?x",
      "https://app.example/#x",
      "https://a@app.example",
      "ftp://app.example",
    ])
      expect([address, isReturnPrefix(address)]).toEqual([address, false]);
  });
});
