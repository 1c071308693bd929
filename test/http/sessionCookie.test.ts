import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeToken } from "../../src/auth/tokens.ts";
import { type RawAnswer, freePort, send } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
let token: string;
let userId: string;

beforeAll(async () => {
  service = await startService({ env: { ALLOWED_ORIGINS: "https://friend.example" } });
  ({ token, userId } = await service.login(["reviewers.read", "reviewers.create"]));
});
afterAll(async () => {
  await service.stop();
});

type Headers = Record<string, string>;

const ownPage: Headers = { "sec-fetch-site": "same-origin", "x-office-console": "1" };

const ask = (query: string, headers: Headers, url = service.url): Promise<RawAnswer> =>
  send(url, {
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ query }),
  });

const withCookie = (headers: Headers = ownPage): Headers => ({
  cookie: `office_session=${token}`,
  ...headers,
});

/** The parts of the only Set-Cookie header. */
function setCookieOf(answer: RawAnswer): string[] {
  const cookies = answer.headers["set-cookie"] ?? [];
  expect(cookies).toHaveLength(1);
  return (cookies[0] ?? "").split("; ");
}

/** Logs in a new user and returns the response. */
async function logIn(headers: Headers, url = service.url): Promise<RawAnswer> {
  const email = `${randomUUID()}@example.com`;
  await service.database.pool.query("insert into users (email, is_active) values ($1, true)", [
    email,
  ]);
  return ask(`mutation { devLogin(email: "${email}") { token user { email } } }`, headers, url);
}

describe("a login with X-Session: cookie", () => {
  test("sets a cookie that scripts cannot read and returns no token", async () => {
    const answer = await logIn({ ...ownPage, "x-session": "cookie" });
    expect(answer.json.errors).toBeUndefined();
    expect(answer.json.data.devLogin.token).toBeNull();
    expect(answer.json.data.devLogin.user.email).toMatch(/@example\.com$/);
    const [pair, ...attributes] = setCookieOf(answer);
    expect(pair).toMatch(/^office_session=bos_/);
    expect(attributes).toEqual(
      expect.arrayContaining(["Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=1209600"]),
    );
    expect(attributes).not.toContain("Secure");
    const me = await ask("{ me { email } }", { ...ownPage, cookie: pair ?? "" });
    expect(me.json.data.me.email).toBe(answer.json.data.devLogin.user.email);
  });

  test("returns the token without that header", async () => {
    const answer = await logIn(ownPage);
    expect(answer.json.data.devLogin.token).toMatch(/^bos_/);
    expect(answer.headers["set-cookie"]).toBeUndefined();
  });

  test("sets no cookie when it is rejected", async () => {
    const answer = await ask(
      'mutation { devLogin(email: "nobody@example.com") { token user { email } } }',
      { ...ownPage, "x-session": "cookie" },
    );
    expect(answer.json.errors[0].extensions.code).toBe("UNAUTHENTICATED");
    expect(answer.headers["set-cookie"]).toBeUndefined();
  });

  test("rejects another value of the header", async () => {
    const answer = await logIn({ ...ownPage, "x-session": "cokie" });
    expect(answer.json.errors[0]).toMatchObject({
      message: "X-Session must be cookie",
      extensions: { code: "BAD_USER_INPUT", header: "X-Session" },
    });
  });

  test("works for bootstrapFirstUser", async () => {
    const empty = await startService();
    try {
      const bootstrap = 'mutation { bootstrapFirstUser(email: "anna@example.com") { token } }';
      const answer = await ask(bootstrap, { ...ownPage, "x-session": "cookie" }, empty.url);
      expect(answer.json.data.bootstrapFirstUser.token).toBeNull();
      expect(setCookieOf(answer)[0]).toMatch(/^office_session=bos_/);
    } finally {
      await empty.stop();
    }
  });

  test("uses the prefix __Host- and Secure behind https", async () => {
    const port = await freePort();
    const secure = await startService({
      database: service.database,
      env: { PORT: String(port), PUBLIC_URL: "https://office.test" },
    });
    try {
      // The tests connect behind the proxy that terminates TLS.
      const url = `http://127.0.0.1:${port}`;
      const answer = await logIn({ ...ownPage, "x-session": "cookie" }, url);
      const [pair = "", ...attributes] = setCookieOf(answer);
      expect(pair).toMatch(/^__Host-office_session=bos_/);
      expect(attributes).toEqual(expect.arrayContaining(["Path=/", "HttpOnly", "Secure"]));
      const me = async (headers: Headers) =>
        (await ask("{ me { email } }", headers, url)).json.data.me;
      expect(await me({ ...ownPage, cookie: pair })).not.toBeNull();
      // Another host of the domain can set this one.
      expect(await me({ ...ownPage, cookie: pair.replace("__Host-", "") })).toBeNull();
      const origin = "https://office.test";
      expect(await me({ "x-office-console": "1", origin, cookie: pair })).not.toBeNull();
    } finally {
      await secure.stop();
    }
  });
});

describe("the session cookie", () => {
  test("is a credential from a page of this server", async () => {
    const answer = await ask("{ me { id } }", withCookie());
    expect(answer.json).toMatchObject({ data: { me: { id: userId } } });
  });

  test("is a credential from this origin, of a browser without Sec-Fetch-Site", async () => {
    const headers = { "x-office-console": "1", origin: service.url };
    const answer = await ask("{ me { id } }", withCookie(headers));
    expect(answer.json).toMatchObject({ data: { me: { id: userId } } });
  });

  const refused: [string, Headers][] = [
    ["without the header X-Office-Console", { "sec-fetch-site": "same-origin" }],
    ["with another value of it", { "sec-fetch-site": "same-origin", "x-office-console": "true" }],
    ["from another site", { ...ownPage, "sec-fetch-site": "cross-site" }],
    ["from another origin of the same site", { ...ownPage, "sec-fetch-site": "same-site" }],
    ["of a request that no page sent", { ...ownPage, "sec-fetch-site": "none" }],
    ["with an unknown Sec-Fetch-Site", { ...ownPage, "sec-fetch-site": "same-origin, none" }],
    ["without Sec-Fetch-Site and Origin", { "x-office-console": "1" }],
    ["from another origin", { "x-office-console": "1", origin: "https://evil.example" }],
    ["from an allowed origin", { "x-office-console": "1", origin: "https://friend.example" }],
    ["from an opaque origin", { "x-office-console": "1", origin: "null" }],
  ];
  test.each(refused)("is no credential %s", async (_name, headers) => {
    const answer = await ask("{ me { id } }", withCookie(headers));
    expect(answer.json).toMatchObject({
      data: { me: null },
      errors: [{ message: "You are not logged in" }],
    });
    expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  test("is no credential when an Authorization header is present", async () => {
    for (const authorization of [`Bearer ${makeToken("session")}`, "Basic eDp5", ""]) {
      const answer = await ask("{ me { id } }", withCookie({ ...ownPage, authorization }));
      expect([authorization, answer.json.data.me]).toEqual([authorization, null]);
    }
  });

  test("is no credential when it is sent twice", async () => {
    const cookie = `office_session=${token}; office_session=${token}`;
    expect((await ask("{ me { id } }", { ...ownPage, cookie })).json.data.me).toBeNull();
  });

  test("never holds an API token", async () => {
    const made = await ask(
      'mutation { createMyApiToken(input: { name: "script" }) { token } }',
      withCookie(),
    );
    expect(made.json.errors).toBeUndefined();
    const cookie = `office_session=${made.json.data.createMyApiToken.token}`;
    expect((await ask("{ me { id } }", { ...ownPage, cookie })).json.data.me).toBeNull();
  });

  test("does not reach a page of an allowed origin with credentials", async () => {
    const preflight = await send(service.url, {
      method: "OPTIONS",
      headers: {
        origin: "https://friend.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,x-office-console",
      },
    });
    expect(preflight.headers["access-control-allow-origin"]).toBe("https://friend.example");
    expect(preflight.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  test("changes nothing when a form of another origin posts it", async () => {
    const count = "select count(*)::integer as rows from reviewers";
    const before = await service.database.pool.query(count);
    const query = 'mutation { createReviewer(input: { name: "Mallory" }) { id } }';
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json"]) {
      await send(service.url, {
        headers: {
          "content-type": type,
          origin: "https://evil.example",
          "sec-fetch-site": "cross-site",
          cookie: `office_session=${token}`,
        },
        body: JSON.stringify({ query }),
      });
    }
    expect((await service.database.pool.query(count)).rows).toEqual(before.rows);
  });

  test("is recorded like any session in the audit log", async () => {
    const name = randomUUID();
    const { json, headers } = await ask(
      `mutation { createReviewer(input: { name: "${name}" }) { id } }`,
      withCookie(),
    );
    expect(json.errors).toBeUndefined();
    const { rows } = await service.database.pool.query(
      `select actor_user_id, metadata from audit_log where correlation_id = $1 and entity_type = 'Reviewer'`,
      [headers["x-correlation-id"]],
    );
    // Like a session token in the Authorization header; an API token would be recorded.
    expect(rows).toEqual([{ actor_user_id: userId, metadata: { source: "api" } }]);
  });

  test("suffices without X-Office-Console for a download", async () => {
    const path = `/exports/${randomUUID()}/download`;
    const get = (headers: Headers) => send(service.url, { method: "GET", path, headers });
    // A missing permission means that the caller is authenticated.
    expect((await get(withCookie({ "sec-fetch-site": "same-origin" }))).status).toBe(403);
    for (const site of ["cross-site", "same-site", "none"])
      expect((await get(withCookie({ "sec-fetch-site": site }))).status).toBe(401);
    expect((await get(withCookie({}))).status).toBe(401);
  });

  test("counts against the limit of its session", async () => {
    const limited = await startService({
      database: service.database,
      env: { REQUESTS_PER_MINUTE: "3" },
    });
    try {
      const statuses = [];
      for (const headers of [
        withCookie(),
        { authorization: `Bearer ${token}` },
        withCookie(),
        withCookie(),
      ])
        statuses.push((await ask("{ me { id } }", headers, limited.url)).status);
      expect(statuses).toEqual([200, 200, 200, 429]);
    } finally {
      await limited.stop();
    }
  });
});

describe("logout", () => {
  test("ends the session and removes the cookie", async () => {
    const pair = setCookieOf(await logIn({ ...ownPage, "x-session": "cookie" }))[0] ?? "";
    const answer = await ask("mutation { logout }", { ...ownPage, cookie: pair });
    expect(answer.json.data).toEqual({ logout: true });
    const [cleared, ...attributes] = setCookieOf(answer);
    expect(cleared).toBe("office_session=");
    expect(attributes).toEqual(
      expect.arrayContaining(["HttpOnly", "Path=/", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"]),
    );
    const after = await ask("{ me { id } }", { ...ownPage, cookie: pair });
    expect(after.json.data.me).toBeNull();
    expect(after.json.errors[0].message).toBe("The token is unknown or has ended");
  });

  test("keeps the cookie of another session", async () => {
    const other = (await logIn(ownPage)).json.data.devLogin.token as string;
    const answer = await ask(
      "mutation { logout }",
      withCookie({ authorization: `Bearer ${other}` }),
    );
    expect(answer.json.data).toEqual({ logout: true });
    expect(answer.headers["set-cookie"]).toBeUndefined();
    expect((await ask("{ me { id } }", withCookie())).json.data.me.id).toBe(userId);
  });
});
