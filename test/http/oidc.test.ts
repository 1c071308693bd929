import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import {
  auditOf,
  begin,
  codeOf,
  comeBack,
  exchange,
  frontEnd,
  goThrough,
  startLoginService,
  visit,
} from "../helpers/loginFlow.ts";
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

const address = () => `${randomUUID()}@example.com`;
const verified = (email: string, sub = randomUUID()) => ({ sub, email, email_verified: true });

async function makeUser(email: string, active: boolean): Promise<string> {
  const { rows } = await service.database.pool.query<{ id: string }>(
    "insert into users (email, is_active) values ($1, $2) returning id",
    [email, active],
  );
  return rows[0]!.id;
}

async function invite(email: string, validity: string, state = "pending"): Promise<string> {
  const id = await makeUser(email, false);
  await service.database.pool.query(
    `insert into invitations (user_id, email, role_id, state, expires_at)
     select $1, $2, id, $4, now() + $3::interval from roles where name = 'Superadmin'`,
    [id, email, validity, state],
  );
  return id;
}

async function count(text: string, values: unknown[]): Promise<number> {
  const { rows } = await service.database.pool.query<{ count: number }>(
    `select count(*)::integer from ${text}`,
    values,
  );
  return rows[0]!.count;
}

describe("a login through an identity provider", () => {
  test("asks for a code with PKCE, state and nonce, and binds the browser by a cookie that scripts cannot read", async () => {
    const { response, authorization, setCookie } = await begin(service);
    expect(response.status).toBe(302);
    expect(Object.fromEntries(authorization.searchParams)).toEqual({
      client_id: "office",
      response_type: "code",
      redirect_uri: "https://office.example/auth/callback/main",
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

  test("ends with a session for the user who has the verified address, begun and finished at different servers", async () => {
    const email = address();
    const id = await makeUser(email, true);
    const begun = await begin(service);
    const back = await comeBack(sibling, begun, {
      code: fake.grant(begun.authorization, { claims: verified(email.toUpperCase()) }),
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

  test("knows a person by issuer and subject from then on, whatever the address says", async () => {
    const email = address();
    const id = await makeUser(email, true);
    const sub = randomUUID();
    await codeOf(await goThrough(service, fake, { claims: verified(email, sub) }));
    const other = address();
    await makeUser(other, true);
    for (const claims of [
      verified(other, sub),
      { sub, email, email_verified: false },
      { sub, email: 7, email_verified: true },
    ]) {
      const answer = await exchange(
        service,
        await codeOf(await goThrough(service, fake, { claims })),
      );
      expect(answer.data.exchangeLoginCode.user.id).toBe(id);
    }
    // The same subject of another issuer is someone else.
    const elsewhere = await goThrough(
      service,
      fake,
      { claims: verified(address(), sub) },
      { provider: "second" },
    );
    expect(elsewhere.status).toBe(403);
  });

  test("asks the user-info endpoint for what the identity token does not say", async () => {
    const email = address();
    const id = await makeUser(email, true);
    const sub = randomUUID();
    const back = await goThrough(service, fake, {
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

  test("takes the address and the word that it is verified from one place only", async () => {
    const email = address();
    await makeUser(email, true);
    const sub = randomUUID();
    const mixed = await goThrough(service, fake, {
      claims: { sub, email },
      userinfo: { sub, email: "other@example.com", email_verified: true },
    });
    expect(await auditOf(service, mixed)).toMatchObject([{ metadata: { refused: "unknown" } }]);
  });

  test("fills name and picture only where they are empty and fit to be stored", async () => {
    const email = address();
    const id = await makeUser(email, true);
    const claims = { ...verified(email), name: "\u202eevil", picture: "javascript:alert(1)" };
    await codeOf(await goThrough(service, fake, { claims }));
    const read = () =>
      service.database.pool.query("select name, avatar_url from users where id = $1", [id]);
    expect((await read()).rows).toEqual([{ name: null, avatar_url: null }]);
    await service.database.pool.query("update users set name = 'Chosen' where id = $1", [id]);
    await codeOf(
      await goThrough(service, fake, {
        claims: { ...claims, name: "Told", picture: "https://p.example/a" },
      }),
    );
    expect((await read()).rows).toEqual([{ name: "Chosen", avatar_url: "https://p.example/a" }]);
  });

  test("lets several logins of one browser be finished, in any order", async () => {
    const email = address();
    await makeUser(email, true);
    const sub = randomUUID();
    const one = await begin(service);
    const two = await begin(service, "main", {}, one.cookie);
    expect(two.cookie).toBe(one.cookie);
    for (const begun of [two, one]) {
      const code = fake.grant(begun.authorization, { claims: verified(email, sub) });
      expect((await comeBack(service, begun, { code })).status).toBe(303);
    }
  });

  test("offers a choice of providers, as links that run no script", async () => {
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

describe("the first login of an invited person", () => {
  test("activates them and accepts the invitation", async () => {
    const email = address();
    const id = await invite(email, "1 day");
    const back = await goThrough(service, fake, { claims: verified(email) });
    expect((await exchange(service, await codeOf(back))).data.exchangeLoginCode.user).toMatchObject(
      { id, isActive: true },
    );
    expect(
      (await auditOf(service, back))
        .map((row) => `${row.operation as string} ${row.entity_type as string}`)
        .sort(),
    ).toEqual(["CREATE UserIdentity", "UPDATE Invitation", "UPDATE User"]);
    expect(
      await count(
        "invitations where user_id = $1 and state = 'accepted' and accepted_at is not null",
        [id],
      ),
    ).toBe(1);
  });

  test("happens once, of ten at once, and lets all ten in", async () => {
    const email = address();
    const id = await invite(email, "1 day");
    const sub = randomUUID();
    const browsers = await Promise.all(Array.from({ length: 10 }, () => begin(service)));
    const answers = await Promise.all(
      browsers.map((begun, index) => {
        const code = fake.grant(begun.authorization, { claims: verified(email, sub) });
        return comeBack(index % 2 ? service : sibling, begun, { code });
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(303));
    const rows = (await Promise.all(answers.map((answer) => auditOf(service, answer)))).flat();
    expect(
      rows.map((row) => `${row.operation as string} ${row.entity_type as string}`).sort(),
    ).toEqual(["CREATE UserIdentity", "UPDATE Invitation", "UPDATE User"]);
    expect(await count("user_identities where user_id = $1", [id])).toBe(1);
  });

  test("belongs to one identity, of ten different ones at once with the same address", async () => {
    const email = address();
    const id = await invite(email, "1 day");
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => goThrough(service, fake, { claims: verified(email) })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      303,
      ...Array<number>(9).fill(403),
    ]);
    expect(await count("user_identities where user_id = $1", [id])).toBe(1);
  });
});

describe("a person who may not come in", () => {
  type Case = [
    what: string,
    reason: string,
    prepare: (email: string) => Promise<object>,
    text: RegExp,
  ];
  const cases: Case[] = [
    ["is unknown", "unknown", (email) => Promise.resolve(verified(email)), /have not been invited/],
    [
      "has an address that is not verified",
      "unverified_email",
      async (email) => ({
        ...verified(email),
        email_verified: (await makeUser(email, true)) === "",
      }),
      /has not verified/,
    ],
    [
      "has an address of which nothing is said",
      "unverified_email",
      async (email) => ({
        ...verified(email),
        email_verified: (await makeUser(email, true), null),
      }),
      /has not verified/,
    ],
    [
      "has an address that is verified in words",
      "unverified_email",
      async (email) => ({
        ...verified(email),
        email_verified: (await makeUser(email, true), "true"),
      }),
      /has not verified/,
    ],
    [
      "has an address that is no text",
      "no_email",
      (email) => Promise.resolve({ ...verified(email), email: [email] }),
      /does not tell your e-mail address/,
    ],
    [
      "has an invitation that is over",
      "invitation_expired",
      async (email) => (await invite(email, "-1 minute"), verified(email)),
      /no longer valid/,
    ],
    [
      "has an invitation that was ended",
      "invitation_expired",
      async (email) => (await invite(email, "1 day", "expired"), verified(email)),
      /no longer valid/,
    ],
    [
      "was deactivated after joining",
      "inactive",
      async (email) => (await invite(email, "1 day", "accepted"), verified(email)),
      /not active/,
    ],
    [
      "is inactive",
      "inactive",
      async (email) => (await makeUser(email, false), verified(email)),
      /not active/,
    ],
    [
      "is known by another identity",
      "other_identity",
      async (email) => {
        await makeUser(email, true);
        await codeOf(await goThrough(service, fake, { claims: verified(email) }));
        return verified(email);
      },
      /another identity/,
    ],
  ];

  test.each(cases)("who %s reads so, and it is recorded", async (_what, reason, prepare, text) => {
    const email = address();
    const claims = { ...(await prepare(email)) } as Record<string, unknown>;
    const before = await count("user_identities", []);
    const sub = claims.sub as string;
    const back = await goThrough(service, fake, { claims, userinfo: claims });
    const page = await back.text();
    expect(back.status).toBe(403);
    expect(back.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page).toMatch(text);
    expect(page).toContain(back.headers.get("x-correlation-id"));
    expect(await auditOf(service, back)).toEqual([
      {
        actor_user_id: null,
        operation: "CREATE",
        entity_type: "Session",
        before: null,
        after: null,
        ip_address: "127.0.0.1",
        metadata: expect.objectContaining({
          source: "api",
          refused: reason,
          provider: "main",
          subject: sub,
        }),
      },
    ]);
    expect(await count("user_identities", [])).toBe(before);
    expect(
      await count(
        "login_codes c join users u on u.id = c.user_id where u.email = $1 and not u.is_active",
        [email],
      ),
    ).toBe(0);
  });

  test("has an address that only looks like a colleague's", async () => {
    const stem = randomUUID().replace(/[^a-f]/g, "");
    await makeUser(`kai${stem}@example.com`, true);
    const lookAlikes = [
      `\u212Aai${stem}@example.com`, // the Kelvin sign, whose small letter is k
      `k\u0430i${stem}@example.com`, // a Cyrillic a
      `\uFF4Bai${stem}@example.com`, // a full-width k
      `ka\u0131${stem}@example.com`, // an i without its dot
      `kai${stem}@examp\u200Ble.com`,
      ` kai${stem}@example.com`,
      `kai${stem}@example.com.`,
      `kai${stem}+x@example.com`,
    ];
    for (const email of lookAlikes) {
      const back = await goThrough(service, fake, { claims: verified(email) });
      expect([email, back.status]).toEqual([email, 403]);
    }
    expect(
      (await goThrough(service, fake, { claims: verified(`KAI${stem}@EXAMPLE.COM`) })).status,
    ).toBe(303);
  });

  test("was linked and is deactivated now", async () => {
    const email = address();
    const id = await makeUser(email, true);
    const claims = verified(email);
    const code = await codeOf(await goThrough(service, fake, { claims }));
    await service.database.pool.query("update users set is_active = false where id = $1", [id]);
    const back = await goThrough(service, fake, { claims });
    expect(await auditOf(service, back)).toMatchObject([
      { metadata: { refused: "inactive", userId: id } },
    ]);
    // Nor does a code from before open anything after a reactivation.
    await service.database.pool.query("update users set is_active = true where id = $1", [id]);
    expect((await exchange(service, code)).errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  });
});
