import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeToken } from "../../src/auth/tokens.ts";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Service, startService } from "../helpers/service.ts";
import { bootstrap, run, testMode } from "../helpers/http/testRuns.ts";

const message = "The token is unknown or has ended";
const challenge = 'Bearer error="invalid_token"';
const id = "00000000-0000-7000-8000-000000000000";

let service: Service;
let other: string;
/** Invalid tokens by reason. */
const tokens = new Map<string, string>();

beforeAll(async () => {
  service = await startService({ env: testMode });
  const sql = (text: string, values: unknown[]) => service.database.pool.query(text, values);
  const session = async (change: string) => {
    const { token, userId } = await service.login(["exports.read", "ai.use"]);
    await sql(`${change} = $1`, [userId]);
    return token;
  };
  const apiToken = async (change: string) => {
    const { userId } = await service.login(["exports.read", "ai.use"]);
    const { token } = await insertApiToken(service.database, userId);
    await sql(`${change} = $1`, [userId]);
    return token;
  };
  const deactivate = "update users set is_active = false where id";
  tokens.set("an unknown session", makeToken("session"));
  tokens.set("an unknown API token", makeToken("api"));
  tokens.set("a malformed token", "bos_wrong");
  tokens.set(
    "an expired session",
    await session("update sessions set expires_at = now() - interval '1 second' where user_id"),
  );
  tokens.set(
    "an idle session",
    await session(
      "update sessions set idle_expires_at = now() - interval '1 second' where user_id",
    ),
  );
  tokens.set(
    "an ended session",
    await session("update sessions set ended_at = now() where user_id"),
  );
  tokens.set("a session of a deactivated user", await session(deactivate));
  tokens.set(
    "an expired API token",
    await apiToken("update api_tokens set expires_at = now() - interval '1 second' where user_id"),
  );
  tokens.set(
    "a revoked API token",
    await apiToken("update api_tokens set revoked_at = now() where user_id"),
  );
  tokens.set("an API token of a deactivated user", await apiToken(deactivate));
  ({ token: other } = await bootstrap(service, run("ended"), "first@ended.example.com"));
  tokens.set("a token of another schema", other);
});
afterAll(() => service.stop());

const rest = (method: string, path: string, token?: string) =>
  fetch(service.url + path, {
    method,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });

describe("an expired token", () => {
  const documents = [
    "{ me { email } }",
    "{ products { nodes { name } } }",
    '{ searchConfig(type: "products") { collectionName } }',
    '{ products { nodes { name } } searchConfig(type: "products") { collectionName } }',
    `mutation { updateUser(id: "${id}", input: { name: "Ann" }) { name } }`,
    "mutation { logout }",
  ];
  test.each(documents)("is rejected with the same message: %s", async (document) => {
    for (const [reason, token] of tokens) {
      const { status, headers, data, errors } = await service.ask(document, { token });
      expect([reason, status, headers.get("www-authenticate")]).toEqual([reason, 200, challenge]);
      expect(Object.values(data ?? {}).filter((value) => value !== null)).toEqual([]);
      expect(errors?.map((error) => [error.message, error.extensions.code])).toEqual(
        errors?.map(() => [message, "UNAUTHENTICATED"]),
      );
    }
  });

  test("is rejected the same way in a test run", async () => {
    const { token } = await service.login([]);
    for (const headers of [run("ended"), run("never_made")]) {
      const answer = await service.ask("{ me { email } }", { token, headers });
      expect(answer.errors?.[0]?.message).toBe(message);
      expect(answer.headers.get("www-authenticate")).toBe(challenge);
    }
    const own = await service.ask("{ me { email } }", { token: other, headers: run("ended") });
    expect(own.data.me.email).toBe("first@ended.example.com");
  });

  test("is rejected before a long request is read", async () => {
    const query = `{ me { email } } #${"x".repeat(40_000)}`;
    const { errors, headers } = await service.ask(query, { token: makeToken("api") });
    expect(errors?.[0]?.message).toBe(message);
    expect(headers.get("www-authenticate")).toBe(challenge);
  });

  test("does not prevent a login", async () => {
    const answer = await service.ask(
      `mutation { devLogin(email: "nobody@example.com") { token } logout }`,
      { token: makeToken("session") },
    );
    expect(answer.errors?.map((error) => error.message)).not.toContain(message);
  });

  const endpoints: [string, string][] = [
    ["GET", `/exports/${id}/download`],
    ["POST", "/exports/workbooks"],
    ["GET", "/ai/conversations"],
    ["GET", `/ai/chat/${id}/stream`],
  ];
  test.each(endpoints)("is answered 401 at %s %s", async (method, path) => {
    for (const [reason, token] of tokens) {
      const answer = await rest(method, path, token);
      expect([reason, answer.status, answer.headers.get("www-authenticate")]).toEqual([
        reason,
        401,
        challenge,
      ]);
      expect(await answer.json()).toMatchObject({ error: { code: "UNAUTHENTICATED", message } });
    }
    const none = await rest(method, path);
    expect([none.status, none.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="office"',
    ]);
    expect(await none.json()).toMatchObject({
      error: { code: "UNAUTHENTICATED", message: "You are not logged in" },
    });
  });
});
