import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import { auditOf, codeOf, exchange, fullLogin, startLoginService } from "../helpers/loginFlow.ts";
import { address, count, invite, makeUser, verified } from "../helpers/loginPeople.ts";
import { runCommand } from "../helpers/commands/run.ts";
import { waitForWaiter } from "../helpers/locked.ts";
import type { Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main", "second"]);
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});

describe("a person who cannot log in", () => {
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
        email_verified: (await makeUser(service, email)) === "",
      }),
      /has not verified/,
    ],
    [
      "has an address of which nothing is said",
      "unverified_email",
      async (email) => ({
        ...verified(email),
        email_verified: (await makeUser(service, email), null),
      }),
      /has not verified/,
    ],
    [
      "has an address that is verified in words",
      "unverified_email",
      async (email) => ({
        ...verified(email),
        email_verified: (await makeUser(service, email), "true"),
      }),
      /has not verified/,
    ],
    [
      "has an address that is no text",
      "no_email",
      (email) => Promise.resolve({ ...verified(email), email: [email] }),
      /did not send your e-mail address/,
    ],
    [
      "has an invitation that is over",
      "invitation_expired",
      async (email) => (await invite(service, email, "-1 minute"), verified(email)),
      /no longer valid/,
    ],
    [
      "has an invitation that was ended",
      "invitation_expired",
      async (email) => (await invite(service, email, "1 day", "expired"), verified(email)),
      /no longer valid/,
    ],
    [
      "was deactivated after joining",
      "inactive",
      async (email) => {
        await service.database.pool.query("update users set is_active = false where id = $1", [
          await makeUser(service, email),
        ]);
        return verified(email);
      },
      /not active/,
    ],
    [
      "was deactivated in the database while an invitation was pending",
      "inactive",
      async (email) => {
        const id = await invite(service, email, "1 day");
        for (const isActive of [true, false])
          await service.database.pool.query("update users set is_active = $2 where id = $1", [
            id,
            isActive,
          ]);
        return verified(email);
      },
      /not active/,
    ],
    [
      "is inactive",
      "inactive",
      async (email) => (await makeUser(service, email, false), verified(email)),
      /not active/,
    ],
    [
      "is known by another identity",
      "other_identity",
      async (email) => {
        await makeUser(service, email);
        await codeOf(await fullLogin(service, fake, { claims: verified(email) }));
        return verified(email);
      },
      /another identity/,
    ],
  ];

  test.each(cases)(
    "a person who %s gets the reason, which is audited",
    async (_what, reason, prepare, text) => {
      const email = address();
      const claims = { ...(await prepare(email)) } as Record<string, unknown>;
      const before = await count(service, "user_identities", []);
      const sub = claims.sub as string;
      const back = await fullLogin(service, fake, { claims, userinfo: claims });
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
      expect(await count(service, "user_identities", [])).toBe(before);
      expect(
        await count(
          service,
          "login_codes c join users u on u.id = c.user_id where u.email = $1 and not u.is_active",
          [email],
        ),
      ).toBe(0);
    },
  );

  test("has an address that resembles a user's", async () => {
    const stem = randomUUID().replace(/[^a-f]/g, "");
    await makeUser(service, `kai${stem}@example.com`, true);
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
      const back = await fullLogin(service, fake, { claims: verified(email) });
      expect([email, back.status]).toEqual([email, 403]);
    }
    expect(
      (await fullLogin(service, fake, { claims: verified(`KAI${stem}@EXAMPLE.COM`) })).status,
    ).toBe(303);
  });

  test("is linked and deactivated", async () => {
    const email = address();
    const id = await makeUser(service, email);
    const claims = verified(email);
    const code = await codeOf(await fullLogin(service, fake, { claims }));
    await service.database.pool.query("update users set is_active = false where id = $1", [id]);
    const back = await fullLogin(service, fake, { claims });
    expect(await auditOf(service, back)).toMatchObject([
      { metadata: { refused: "inactive", userId: id } },
    ]);
    // An earlier code is also invalid after a reactivation.
    await service.database.pool.query("update users set is_active = true where id = $1", [id]);
    expect((await exchange(service, code)).errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  });
});

describe("a person with a new account at the provider", () => {
  /** Someone who has logged in once, and the claims of the new account. */
  async function moved(permissions: string[] = []) {
    const email = address();
    await service.login(permissions, email);
    await codeOf(await fullLogin(service, fake, { claims: verified(email) }));
    const { rows } = await service.database.pool.query<{ id: string }>(
      "select id from users where email = $1",
      [email],
    );
    return { id: rows[0]?.id ?? "", claims: verified(email) };
  }
  const logIn = (claims: ReturnType<typeof verified>) => fullLogin(service, fake, { claims });
  const unlink = (id: string, token: string) =>
    service.ask(`mutation ($id: ID!) { unlinkUserLogins(userId: $id) { id } }`, {
      token,
      variables: { id },
    });

  test("logs in after an administrator has unlinked the former one", async () => {
    const { id, claims } = await moved();
    expect((await logIn(claims)).status).toBe(403);
    const { token } = await service.login(["users.update", "users.read"]);
    expect(await unlink(id, token)).toMatchObject({ data: { unlinkUserLogins: { id } } });
    await codeOf(await logIn(claims));
    const { rows } = await service.database.pool.query(
      "select operation from audit_log where entity_type = 'UserIdentity' and coalesce(after, before) ->> 'userId' = $1 order by id",
      [id],
    );
    expect(rows.map(({ operation }) => operation as string)).toEqual([
      "CREATE",
      "DELETE",
      "CREATE",
    ]);
  });

  test("cannot finish the login that began before", async () => {
    const email = address();
    await makeUser(service, email);
    const code = await codeOf(await fullLogin(service, fake, { claims: verified(email) }));
    const { rows } = await service.database.pool.query<{ id: string }>(
      "select id from users where email = $1",
      [email],
    );
    const { token } = await service.login(["users.update", "users.read"]);
    expect((await unlink(rows[0]?.id ?? "", token)).errors).toBeUndefined();
    expect((await exchange(service, code)).errors?.[0]).toMatchObject({
      extensions: { code: "UNAUTHENTICATED" },
    });
  });

  test("is not logged in by an account that is unlinked meanwhile", async () => {
    const email = address();
    const id = await makeUser(service, email);
    const claims = verified(email);
    await codeOf(await fullLogin(service, fake, { claims }));
    const client = await service.database.pool.connect();
    await client.query("begin");
    await client.query("select from users where id = $1 for update", [id]);
    const back = fullLogin(service, fake, { claims: { ...claims, email: address() } });
    await waitForWaiter(service.database.pool);
    await client.query("delete from user_identities where user_id = $1", [id]);
    await client.query("commit");
    client.release();
    expect((await back).status).toBe(403);
  });

  test("is not unlinked by a caller who lacks the user's permissions", async () => {
    const { id, claims } = await moved(["campaigns.delete"]);
    const { token } = await service.login(["users.update", "users.read"]);
    expect((await unlink(id, token)).errors?.[0]).toMatchObject({
      extensions: { code: "FORBIDDEN" },
    });
    expect((await logIn(claims)).status).toBe(403);
    const { token: all } = await service.login(["users.update", "users.read", "campaigns.delete"]);
    expect((await unlink(id, all)).errors).toBeUndefined();
    expect((await unlink(id, all)).errors?.[0]).toMatchObject({
      message: "The user is linked with no account at an identity provider",
      extensions: { code: "CONFLICT", path: ["userId"] },
    });
  });

  test("logs in after npm run identities has unlinked all users of the issuer", async () => {
    const { claims } = await moved();
    const identities = (...args: string[]) =>
      runCommand("src/commands/identities.ts", args, { DATABASE_URL: service.database.url });
    const listed = (await identities("list")).output;
    const issuer = /^(\S+) {2}\d+ users, the last one linked /m.exec(listed)?.[1] ?? "";
    expect(await identities("unlink", "--issuer", "https://other.example")).toEqual({
      code: 2,
      output: `No user is linked with https://other.example; the issuers are ${issuer}\n`,
    });
    expect((await logIn(claims)).status).toBe(403);
    expect((await identities("unlink", "--issuer", issuer)).output).toMatch(
      /^\d+ users are no longer linked with /,
    );
    await codeOf(await logIn(claims));
  });
});
