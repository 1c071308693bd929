import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { expectRefusal } from "../helpers/expectRefusal.ts";
import { type FakeProvider, clientSecret, startFakeProvider } from "../helpers/fakeProvider.ts";
import {
  startLogin,
  codeOf,
  requestCallback,
  startLoginService,
  visit,
} from "../helpers/loginFlow.ts";
import { makeUser } from "../helpers/loginPeople.ts";
import type { Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;
let email: string;
let claims: Record<string, unknown>;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main", "second", "naming"]);
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});
beforeEach(async () => {
  email = `${randomUUID()}@example.com`;
  claims = { sub: randomUUID(), email, email_verified: true };
  await makeUser(service, email);
});

const refused = (response: Response, status: number) =>
  expectRefusal(service, email, response, status);

describe("a callback without a matching login of this browser", () => {
  test("is rejected without the cookie, with another browser's, and with two cookies", async () => {
    const started = await startLogin(service);
    const other = await startLogin(service);
    const code = fake.grant(started.authorization, { claims });
    for (const cookie of [
      "",
      other.cookie,
      `${started.cookie}; ${other.cookie}`,
      "__Host-office_login=x",
      started.cookie.replace("__Host-", ""),
    ])
      await refused(
        await requestCallback(service, { state: started.state, cookie }, { code }),
        400,
      );
    // These attempts do not use up the login: its own browser can finish it.
    expect((await requestCallback(service, started, { code })).status).toBe(303);
  });

  test("is rejected with a used, unknown, missing, empty or repeated state", async () => {
    const started = await startLogin(service);
    const code = fake.grant(started.authorization, { claims });
    for (const query of [
      `state=${randomUUID()}&code=${code}`,
      `code=${code}`,
      `state=&code=${code}`,
      `state=${started.state}&state=${started.state}&code=${code}`,
      `state=${started.state}x&code=${code}`,
      "",
    ])
      await refused(
        await visit(service, `/auth/callback/main?${query}`, { cookie: started.cookie }),
        400,
      );
    expect((await requestCallback(service, started, { code })).status).toBe(303);
    const replayed = fake.grant(started.authorization, { claims });
    const again = await requestCallback(service, started, { code: replayed });
    expect([again.status, again.headers.get("location")]).toEqual([400, null]);
  });

  test("is accepted once in ten concurrent callbacks with one state", async () => {
    const started = await startLogin(service);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        requestCallback(service, started, { code: fake.grant(started.authorization, { claims }) }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      303,
      ...Array<number>(9).fill(400),
    ]);
  });

  test("is rejected after ten minutes", async () => {
    const started = await startLogin(service);
    await service.database.pool.query(
      "update login_attempts set expires_at = now() - interval '1 second'",
    );
    await refused(
      await requestCallback(service, started, {
        code: fake.grant(started.authorization, { claims }),
      }),
      400,
    );
  });

  test("is rejected at another provider's callback", async () => {
    const started = await startLogin(service);
    const code = fake.grant(started.authorization, { claims });
    await refused(await requestCallback(service, started, { code }, "second"), 400);
    await refused(await requestCallback(service, started, { code }, "nowhere"), 404);
  });

  test("is rejected with a provider's code that was used or belongs to another login", async () => {
    const first = await startLogin(service);
    const stolen = fake.grant(first.authorization, { claims });
    await refused(await requestCallback(service, await startLogin(service), { code: stolen }), 400);

    const second = await startLogin(service);
    const code = fake.grant(second.authorization, {
      claims: { ...claims, sub: "x", email: "nobody@example.com" },
    });
    await refused(await requestCallback(service, second, { code }), 403);
    await refused(await requestCallback(service, await startLogin(service), { code }), 400);
  });

  test("is rejected with another issuer, or without one when the provider always sends it", async () => {
    const answers: Record<string, string>[] = [{}, { iss: fake.settings("second").issuer }];
    for (const named of answers) {
      const started = await startLogin(service, "naming");
      const code = fake.grant(started.authorization, { claims });
      await refused(await requestCallback(service, started, { code, ...named }, "naming"), 502);
    }
    const started = await startLogin(service, "naming");
    const code = fake.grant(started.authorization, { claims });
    const { issuer: iss } = fake.settings("naming");
    expect((await requestCallback(service, started, { code, iss }, "naming")).status).toBe(303);
  });

  test("shows a clear page after a cancellation or an error of the provider", async () => {
    await refused(
      await requestCallback(service, await startLogin(service), { error: "access_denied" }),
      403,
    );
    const failed = await requestCallback(service, await startLogin(service), {
      error: "server_error",
      error_description: "<script>alert(1)</script>",
    });
    await refused(failed, 502);
    await refused(await requestCallback(service, await startLogin(service), {}), 502);
  });
});

test("the cookie of a login is no credential of the API", async () => {
  const started = await startLogin(service);
  const back = await requestCallback(service, started, {
    code: fake.grant(started.authorization, { claims }),
  });
  const code = await codeOf(back);
  const attempts: Record<string, string>[] = [
    { cookie: started.cookie },
    { cookie: `session=${code}` },
    { authorization: `Bearer ${code}` },
  ];
  for (const headers of attempts) {
    const answer = await service.ask("{ me { id } }", { headers });
    expect(answer.errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  }
});

test("no log and no audit row contains a code, a token, a state or a secret", async () => {
  const started = await startLogin(service);
  const providerCode = fake.grant(started.authorization, { claims });
  const code = await codeOf(await requestCallback(service, started, { code: providerCode }));
  const answer = await service.ask(
    `mutation { exchangeLoginCode(code: "${code}", returnTo: "https://app.example/signed-in") { token } }`,
  );
  const { token } = answer.data.exchangeLoginCode as { token: string };
  const cookie = started.cookie.split("=")[1] ?? "";
  const { rows } = await service.database.pool.query<{ text: string }>(
    "select coalesce(string_agg(a::text, ' '), '') as text from audit_log a",
  );
  const places = { log: service.output(), audit: rows[0]?.text ?? "" };
  const nonce = started.authorization.searchParams.get("nonce") ?? "";
  for (const [place, text] of Object.entries(places)) {
    for (const secret of [
      code,
      token,
      cookie,
      started.state,
      nonce,
      providerCode,
      clientSecret,
      "eyJ",
      "bol_",
      "bos_",
    ])
      expect([place, secret, secret.length > 2 && text.includes(secret)]).toEqual([
        place,
        secret,
        false,
      ]);
  }
});
