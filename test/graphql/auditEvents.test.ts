import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import {
  startLogin,
  codeOf,
  requestCallback,
  exchange,
  startLoginService,
} from "../helpers/loginFlow.ts";
import { makeUser } from "../helpers/loginPeople.ts";
import type { Answer, Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;
let admin: { token: string; userId: string };

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main"]);
  const first = await service.ask(
    `mutation { bootstrapFirstUser(email: "first@example.com") { token user { id } } }`,
  );
  const { token, user } = first.data.bootstrapFirstUser;
  admin = { token, userId: user.id };
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});

async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

/** The audit rows of a response's request, oldest first. */
function eventsOf(answer: Answer) {
  return sql<Record<string, unknown>>(
    `select actor_user_id, operation, entity_type, entity_id, before, after, metadata, ip_address, user_agent
     from audit_log where correlation_id = $1 and operation <> 'READ' order by id`,
    [answer.headers.get("x-correlation-id")],
  );
}

const mutate = (
  text: string,
  variables: Record<string, unknown> = {},
  token: string | null = admin.token,
) => service.ask(text, { token, variables, headers: { "user-agent": "office-front/7" } });
const devLogin = (email: string) =>
  mutate("mutation ($email: String!) { devLogin(email: $email) { token } }", { email }, null);

async function person(isActive = true): Promise<{ id: string; email: string }> {
  const email = `${randomUUID()}@example.com`;
  return { id: await makeUser(service, email, isActive), email };
}

const byRequest = { ip_address: "127.0.0.1", user_agent: "office-front/7" };

describe("the audit log records", () => {
  test("a login and its logout", async () => {
    const { id, email } = await person();
    const login = await devLogin(email);
    const token = login.data.devLogin.token;
    const [opened, ...more] = await eventsOf(login);
    expect(opened).toMatchObject({
      actor_user_id: id,
      operation: "CREATE",
      entity_type: "Session",
      after: { userId: id },
      metadata: { source: "api" },
      ...byRequest,
    });
    expect(more).toEqual([]);
    expect(await eventsOf(await mutate("mutation { logout }", {}, token))).toMatchObject([
      {
        actor_user_id: id,
        operation: "UPDATE",
        entity_type: "Session",
        entity_id: opened?.entity_id,
        before: { endedAt: null },
        after: { endedAt: expect.any(String) },
      },
    ]);
  });

  test("a rejected login, with the typed address and the reason that the caller does not get", async () => {
    const inactive = await person(false);
    const refusal = (details: object) => [
      {
        actor_user_id: null,
        operation: "CREATE",
        entity_type: "Session",
        entity_id: null,
        before: null,
        after: null,
        metadata: { source: "api", ...details },
        ...byRequest,
      },
    ];
    expect(await eventsOf(await devLogin("nobody@example.com"))).toEqual(
      refusal({ refused: "unknown", step: "devLogin", email: "nobody@example.com" }),
    );
    expect(await eventsOf(await devLogin(inactive.email.toUpperCase()))).toEqual(
      refusal({
        refused: "inactive",
        step: "devLogin",
        email: inactive.email.toUpperCase(),
        userId: inactive.id,
      }),
    );
    const late = await mutate(
      `mutation { bootstrapFirstUser(email: "late@example.com") { token } }`,
      {},
      null,
    );
    expect(late.errors?.[0]?.extensions.code).toBe("CONFLICT");
    expect(await eventsOf(late)).toEqual(
      refusal({
        refused: "not_the_first_user",
        step: "bootstrapFirstUser",
        email: "late@example.com",
      }),
    );
  });

  test("a login through a provider, and a rejected code", async () => {
    const { id, email } = await person();
    const code = async () => {
      const begun = await startLogin(service);
      const grant = { claims: { sub: `subject of ${id}`, email, email_verified: true } };
      const granted = fake.grant(begun.authorization, grant);
      return codeOf(await requestCallback(service, begun, { code: granted }));
    };
    const login = await exchange(service, await code());
    expect(await eventsOf(login)).toMatchObject([
      { actor_user_id: id, operation: "CREATE", entity_type: "Session" },
    ]);
    const refused = await exchange(service, await code(), {
      returnTo: "https://other.example/app/",
    });
    expect(await eventsOf(refused)).toMatchObject([
      {
        actor_user_id: null,
        entity_type: "Session",
        metadata: { refused: "other_return_address", provider: "main", userId: id },
      },
    ]);
  });

  test("a session that another user ends", async () => {
    const { id, email } = await person();
    await devLogin(email);
    const [session] = await sql<{ id: string }>("select id from sessions where user_id = $1", [id]);
    const ended = await mutate("mutation ($id: ID!) { revokeSession(id: $id) }", session);
    expect(await eventsOf(ended)).toMatchObject([
      {
        actor_user_id: admin.userId,
        operation: "UPDATE",
        entity_type: "Session",
        entity_id: session?.id,
      },
    ]);
  });

  test("created and revoked API tokens, and those that end with their owner", async () => {
    const { id } = await person();
    const made = await mutate(
      `mutation ($userId: ID!, $input: CreateApiTokenInput!) {
         createUserApiToken(userId: $userId, input: $input) { id token }
       }`,
      { userId: id, input: { name: "nightly" } },
    );
    expect(made.errors).toBeUndefined();
    const first = made.data.createUserApiToken;
    expect(await eventsOf(made)).toMatchObject([
      {
        actor_user_id: admin.userId,
        operation: "CREATE",
        entity_type: "ApiToken",
        entity_id: first.id,
        after: { name: "nightly", userId: id },
      },
    ]);
    const revoked = await mutate("mutation ($id: ID!) { revokeApiToken(id: $id) }", {
      id: first.id,
    });
    const ending = {
      actor_user_id: admin.userId,
      operation: "UPDATE",
      entity_type: "ApiToken",
      before: { revokedAt: null },
      after: { revokedAt: expect.any(String) },
    };
    expect(await eventsOf(revoked)).toMatchObject([{ ...ending, entity_id: first.id }]);

    const second = await mutate(
      `mutation ($userId: ID!) { createUserApiToken(userId: $userId, input: { name: "weekly" }) { id token } }`,
      { userId: id },
    );
    const out = await mutate("mutation ($id: ID!) { deactivateUser(userId: $id) { id } }", { id });
    expect(await eventsOf(out)).toContainEqual(
      expect.objectContaining({ ...ending, entity_id: second.data.createUserApiToken.id }),
    );
  });

  test("changes by SQL, without an actor and without secrets", async () => {
    const { id, email } = await person();
    await devLogin(email);
    await sql(
      "update sessions set token_hash = 'other', user_agent = 'changed' where user_id = $1",
      [id],
    );
    await sql("update users set email = 'moved-' || email where id = $1", [id]);
    const rows = await sql(
      `select actor_user_id, entity_type, before, after, metadata from audit_log
       where operation = 'UPDATE' and (entity_id = $1 or entity_id = (select s.id::text from sessions s where s.user_id = $1::uuid))
       order by id`,
      [id],
    );
    const byHand = { actor_user_id: null, metadata: { source: "db" } };
    expect(rows).toEqual([
      {
        ...byHand,
        entity_type: "Session",
        before: { userAgent: "office-front/7" },
        after: { userAgent: "changed" },
      },
      { ...byHand, entity_type: "User", before: { email }, after: { email: `moved-${email}` } },
    ]);
  });
});
