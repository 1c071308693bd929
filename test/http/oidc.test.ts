import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import {
  auditOf,
  startLogin,
  codeOf,
  requestCallback,
  exchange,
  frontEnd,
  fullLogin,
  startLoginService,
  visit,
} from "../helpers/loginFlow.ts";
import { address, makeUser, verified } from "../helpers/loginPeople.ts";
import type { Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;
let sibling: Service;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main", "second"]);
  sibling = await startLoginService(fake, ["main", "second"], { database: service.database });
});
afterAll(async () => {
  await sibling.stop();
  await service.stop();
  await fake.stop();
});

describe("a login through an identity provider", () => {
  test("requests a code with PKCE, state and nonce, and binds the browser by an HttpOnly cookie", async () => {
    const { response, authorization, setCookie } = await startLogin(service);
    expect(response.status).toBe(302);
    expect(Object.fromEntries(authorization.searchParams)).toEqual({
      client_id: "office",
      response_type: "code",
      redirect_uri: "https://office.test/auth/callback/main",
      scope: "openid email profile",
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
    });
    expect(setCookie).toMatch(
      /^__Host-office_login=[\w-]{43}; Max-Age=600; Path=\/; .*HttpOnly; Secure; SameSite=Lax$/,
    );
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  test("creates a session for the user with the verified address, also across two servers", async () => {
    const email = address();
    const id = await makeUser(service, email);
    const started = await startLogin(service);
    const back = await requestCallback(sibling, started, {
      code: fake.grant(started.authorization, { claims: verified(email.toUpperCase()) }),
    });
    expect(back.status).toBe(303);
    expect(back.headers.get("location")).toMatch(
      /^https:\/\/app\.example\/signed-in\?code=bol_[\w-]{43}$/,
    );
    expect(back.headers.get("referrer-policy")).toBe("no-referrer");
    expect(await auditOf(service, back)).toMatchObject([
      {
        actor_user_id: id,
        operation: "CREATE",
        entity_type: "UserIdentity",
        metadata: { source: "api" },
      },
    ]);

    const answer = await exchange(service, await codeOf(back));
    const { token, user } = answer.data.exchangeLoginCode;
    expect(user).toMatchObject({ id, email });
    expect((await sibling.ask("{ me { id } }", { token })).data.me).toEqual({ id });
    const { rows } = await service.database.pool.query(
      "select actor_user_id, operation, entity_type from audit_log where correlation_id = $1",
      [answer.headers.get("x-correlation-id")],
    );
    expect(rows).toEqual([{ actor_user_id: id, operation: "CREATE", entity_type: "Session" }]);
  });

  test("identifies a person by issuer and subject after the first login, also with another address", async () => {
    const email = address();
    const id = await makeUser(service, email);
    const sub = randomUUID();
    await codeOf(await fullLogin(service, fake, { claims: verified(email, sub) }));
    const other = address();
    await makeUser(service, other);
    for (const claims of [
      verified(other, sub),
      { sub, email, email_verified: false },
      { sub, email: 7, email_verified: true },
    ]) {
      const answer = await exchange(
        service,
        await codeOf(await fullLogin(service, fake, { claims })),
      );
      expect(answer.data.exchangeLoginCode.user.id).toBe(id);
    }
    // The same subject of another issuer is another person.
    const elsewhere = await fullLogin(
      service,
      fake,
      { claims: verified(address(), sub) },
      { provider: "second" },
    );
    expect(elsewhere.status).toBe(403);
  });

  test("requests claims that the identity token lacks from the user-info endpoint", async () => {
    const email = address();
    const id = await makeUser(service, email);
    const sub = randomUUID();
    const back = await fullLogin(service, fake, {
      claims: { sub },
      userinfo: {
        ...verified(email, sub),
        name: "Anna",
        picture: "https://pictures.example/anna.png",
      },
    });
    expect((await exchange(service, await codeOf(back))).data.exchangeLoginCode.user).toEqual({
      id,
      email,
      isActive: true,
      name: "Anna",
      avatarUrl: "https://pictures.example/anna.png",
    });
  });

  test("takes the address and email_verified from the same source", async () => {
    const email = address();
    await makeUser(service, email);
    const sub = randomUUID();
    const mixed = await fullLogin(service, fake, {
      claims: { sub, email },
      userinfo: { sub, email: "other@example.com", email_verified: true },
    });
    expect(await auditOf(service, mixed)).toMatchObject([{ metadata: { refused: "unknown" } }]);
  });

  test("sets name and picture only when they are empty and the new values valid", async () => {
    const email = address();
    const id = await makeUser(service, email);
    const claims = { ...verified(email), name: "\u202eevil", picture: "javascript:alert(1)" };
    await codeOf(await fullLogin(service, fake, { claims }));
    const read = () =>
      service.database.pool.query("select name, avatar_url from users where id = $1", [id]);
    expect((await read()).rows).toEqual([{ name: null, avatar_url: null }]);
    // An internal picture address is ignored and does not prevent the login.
    const inside = { ...claims, picture: "https://10.0.0.1/anna.png" };
    await codeOf(await fullLogin(service, fake, { claims: inside }));
    expect((await read()).rows).toEqual([{ name: null, avatar_url: null }]);
    await service.database.pool.query("update users set name = 'Chosen' where id = $1", [id]);
    await codeOf(
      await fullLogin(service, fake, {
        claims: { ...claims, name: "Told", picture: "https://p.example/a" },
      }),
    );
    expect((await read()).rows).toEqual([{ name: "Chosen", avatar_url: "https://p.example/a" }]);
  });

  test("allows several logins of one browser, finished in any order", async () => {
    const email = address();
    await makeUser(service, email);
    const sub = randomUUID();
    const one = await startLogin(service);
    const two = await startLogin(service, "main", {}, one.cookie);
    expect(two.cookie).toBe(one.cookie);
    for (const started of [two, one]) {
      const code = fake.grant(started.authorization, { claims: verified(email, sub) });
      expect((await requestCallback(service, started, { code })).status).toBe(303);
    }
  });

  test("offers several providers as links without scripts", async () => {
    const response = await visit(service, `/auth/login?returnTo=${encodeURIComponent(frontEnd)}`);
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(page).toContain("Log in with Fake main");
    expect(page).toContain("provider=second&amp;returnTo=https%3A%2F%2Fapp.example%2Fsigned-in");
    expect(page).not.toContain("<script");
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-/,
    );
  });
});
