import { createHmac, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { SignJWT, UnsecuredJWT, generateKeyPair } from "jose";
import {
  type FakeProvider,
  type Grant,
  clientSecret,
  startFakeProvider,
} from "../helpers/fakeProvider.ts";
import {
  begin,
  codeOf,
  comeBack,
  goThrough,
  startLoginService,
  visit,
} from "../helpers/loginFlow.ts";
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
  await service.database.pool.query("insert into users (email, is_active) values ($1, true)", [
    email,
  ]);
});

/** A page for people that shows no internals, and nothing that came of the attempt. */
async function expectRefusal(response: Response, status: number): Promise<void> {
  const page = await response.text();
  expect([response.status, response.headers.get("location")]).toEqual([status, null]);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page).toContain(`<code>${response.headers.get("x-correlation-id") ?? "none"}</code>`);
  expect(page).not.toMatch(/node_modules|at \w+ \(|OAUTH_|Error:|select |jwt/i);
  const { rows } = await service.database.pool.query(
    `select (select count(*)::integer from user_identities i where i.user_id = u.id) as identities,
       (select count(*)::integer from login_codes c where c.user_id = u.id) as codes
     from users u where email = $1`,
    [email],
  );
  expect(rows).toEqual([{ identities: 0, codes: 0 }]);
}

describe("an answer that does not belong to a login of this browser", () => {
  test("is refused without the cookie, with another browser's, and with two of them", async () => {
    const begun = await begin(service);
    const other = await begin(service);
    const code = fake.grant(begun.authorization, { claims });
    for (const cookie of [
      "",
      other.cookie,
      `${begun.cookie}; ${other.cookie}`,
      "__Host-office_login=x",
      begun.cookie.replace("__Host-", ""),
    ])
      await expectRefusal(await comeBack(service, { state: begun.state, cookie }, { code }), 400);
    // None of that used the login up: its own browser can finish it.
    expect((await comeBack(service, begun, { code })).status).toBe(303);
  });

  test("is refused with a state that was used already, is unknown, missing, empty or doubled", async () => {
    const begun = await begin(service);
    const code = fake.grant(begun.authorization, { claims });
    for (const query of [
      `state=${randomUUID()}&code=${code}`,
      `code=${code}`,
      `state=&code=${code}`,
      `state=${begun.state}&state=${begun.state}&code=${code}`,
      `state=${begun.state}x&code=${code}`,
      "",
    ])
      await expectRefusal(
        await visit(service, `/auth/callback/main?${query}`, { cookie: begun.cookie }),
        400,
      );
    expect((await comeBack(service, begun, { code })).status).toBe(303);
    const replayed = fake.grant(begun.authorization, { claims });
    const again = await comeBack(service, begun, { code: replayed });
    expect([again.status, again.headers.get("location")]).toEqual([400, null]);
  });

  test("is refused when ten come at once with one state: one is taken", async () => {
    const begun = await begin(service);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        comeBack(service, begun, { code: fake.grant(begun.authorization, { claims }) }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      303,
      ...Array<number>(9).fill(400),
    ]);
  });

  test("is refused after ten minutes", async () => {
    const begun = await begin(service);
    await service.database.pool.query(
      "update login_attempts set expires_at = now() - interval '1 second'",
    );
    await expectRefusal(
      await comeBack(service, begun, { code: fake.grant(begun.authorization, { claims }) }),
      400,
    );
  });

  test("is refused at another provider's callback", async () => {
    const begun = await begin(service);
    const code = fake.grant(begun.authorization, { claims });
    await expectRefusal(await comeBack(service, begun, { code }, "second"), 400);
    await expectRefusal(await comeBack(service, begun, { code }, "nowhere"), 404);
  });

  test("is refused with a provider's code that was used already, or was made for another login", async () => {
    const first = await begin(service);
    const stolen = fake.grant(first.authorization, { claims });
    await expectRefusal(await comeBack(service, await begin(service), { code: stolen }), 400);

    const second = await begin(service);
    const code = fake.grant(second.authorization, {
      claims: { ...claims, sub: "x", email: "nobody@example.com" },
    });
    await expectRefusal(await comeBack(service, second, { code }), 403);
    await expectRefusal(await comeBack(service, await begin(service), { code }), 400);
  });

  test("is refused when it names another issuer, or none where the provider promises to", async () => {
    const answers: Record<string, string>[] = [{}, { iss: fake.settings("second").issuer }];
    for (const named of answers) {
      const begun = await begin(service, "naming");
      const code = fake.grant(begun.authorization, { claims });
      await expectRefusal(await comeBack(service, begun, { code, ...named }, "naming"), 502);
    }
    const begun = await begin(service, "naming");
    const code = fake.grant(begun.authorization, { claims });
    const { issuer: iss } = fake.settings("naming");
    expect((await comeBack(service, begun, { code, iss }, "naming")).status).toBe(303);
  });

  test("is a clear page when the person cancelled, or the provider says that it failed", async () => {
    await expectRefusal(
      await comeBack(service, await begin(service), { error: "access_denied" }),
      403,
    );
    const failed = await comeBack(service, await begin(service), {
      error: "server_error",
      error_description: "<script>alert(1)</script>",
    });
    await expectRefusal(failed, 502);
    await expectRefusal(await comeBack(service, await begin(service), {}), 502);
  });
});

describe("an identity token that cannot be trusted", () => {
  const hmac = (secret: string) => (payload: Record<string, unknown>) => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const body = `${encode({ alg: "HS256", kid: "one" })}.${encode(payload)}`;
    return `${body}.${createHmac("sha256", secret).update(body).digest("base64url")}`;
  };
  const now = () => Math.floor(Date.now() / 1000);
  const cases: [string, () => Grant | Promise<Grant>][] = [
    ["repeats another nonce", () => ({ claims: { ...claims, nonce: "another" } })],
    ["repeats no nonce", () => ({ claims: { ...claims, nonce: undefined } })],
    ["is for another audience", () => ({ claims: { ...claims, aud: "another" } })],
    [
      "is for several audiences and authorised for another",
      () => ({ claims: { ...claims, aud: ["office", "another"], azp: "another" } }),
    ],
    [
      "comes from another issuer",
      () => ({ claims: { ...claims, iss: fake.settings("second").issuer } }),
    ],
    ["is expired", () => ({ claims: { ...claims, iat: now() - 900, exp: now() - 300 } })],
    ["never expires", () => ({ claims: { ...claims, exp: undefined } })],
    ["is not valid yet", () => ({ claims: { ...claims, nbf: now() + 300 } })],
    ["names no subject", () => ({ claims: { ...claims, sub: undefined } })],
    ["names a subject that is no text", () => ({ claims: { ...claims, sub: 7 } })],
    ["names an empty subject", () => ({ claims: { ...claims, sub: "" } })],
    ["names a subject of 300 characters", () => ({ claims: { ...claims, sub: "x".repeat(300) } })],
    ["names a subject with NUL", () => ({ claims: { ...claims, sub: "x\0y" } })],
    ["is not signed", () => ({ claims, sign: (payload) => new UnsecuredJWT(payload).encode() })],
    [
      "is signed with the public key as a shared secret",
      () => ({ claims, sign: hmac(fake.publicKeyPem) }),
    ],
    ["is signed with the client's secret", () => ({ claims, sign: hmac(clientSecret) })],
    [
      "is signed with another key of the same name",
      async () => {
        const { privateKey } = await generateKeyPair("RS256");
        return {
          claims,
          sign: (payload) =>
            new SignJWT(payload).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(privateKey),
        };
      },
    ],
    [
      "brings its own key",
      async () => {
        const { privateKey } = await generateKeyPair("RS256");
        return {
          claims,
          sign: (payload) =>
            new SignJWT(payload).setProtectedHeader({ alg: "RS256", kid: "mine" }).sign(privateKey),
        };
      },
    ],
    ["is no token", () => ({ claims, sign: () => "nonsense" })],
    ["is empty", () => ({ claims, sign: () => "" })],
  ];
  test.each(cases)("because it %s lets nobody in", async (_what, make) => {
    await expectRefusal(await goThrough(service, fake, await make()), 502);
  });

  test("does not become trusted by user info about someone else", async () => {
    const { sub } = claims;
    const grant = { claims: { sub }, userinfo: { ...claims, sub: "another" } };
    await expectRefusal(await goThrough(service, fake, grant), 502);
  });
});

test("the cookie of a login opens nothing of the API", async () => {
  const begun = await begin(service);
  const back = await comeBack(service, begun, {
    code: fake.grant(begun.authorization, { claims }),
  });
  const code = await codeOf(back);
  const attempts: Record<string, string>[] = [
    { cookie: begun.cookie },
    { cookie: `session=${code}` },
    { authorization: `Bearer ${code}` },
  ];
  for (const headers of attempts) {
    const answer = await service.ask("{ me { id } }", { headers });
    expect(answer.errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  }
});

test("no log and no audit row holds a code, a token, a state or a secret", async () => {
  const begun = await begin(service);
  const providerCode = fake.grant(begun.authorization, { claims });
  const code = await codeOf(await comeBack(service, begun, { code: providerCode }));
  const answer = await service.ask(
    `mutation { exchangeLoginCode(code: "${code}", returnTo: "https://app.example/signed-in") { token } }`,
  );
  const { token } = answer.data.exchangeLoginCode as { token: string };
  const cookie = begun.cookie.split("=")[1] ?? "";
  const { rows } = await service.database.pool.query<{ text: string }>(
    "select coalesce(string_agg(a::text, ' '), '') as text from audit_log a",
  );
  const places = { log: service.output(), audit: rows[0]?.text ?? "" };
  const nonce = begun.authorization.searchParams.get("nonce") ?? "";
  for (const [place, text] of Object.entries(places)) {
    for (const secret of [
      code,
      token,
      cookie,
      begun.state,
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
