import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashToken } from "../../src/auth/tokens.ts";
import { type FakeProvider, clientSecret, startFakeProvider } from "../helpers/fakeProvider.ts";
import { send } from "../helpers/http.ts";
import {
  startLogin,
  codeOf,
  requestCallback,
  exchange,
  startLoginService,
} from "../helpers/loginFlow.ts";
import type { Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;
let token: string;
/** Issued or received secrets, which must not be stored. */
const secrets = new Set<string>();

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main"], { env: { LOG_LEVEL: "trace" } });
  keep(clientSecret);
  const login = await mutate(`bootstrapFirstUser(email: "first@example.com") { token }`, null);
  token = keep(login.bootstrapFirstUser.token);
  await logInThroughProvider();
  await makeAndEndTokens();
  await sendSecretsWhereTheyDoNotBelong();
  await mutate("logout");
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});

function keep(secret: string): string {
  expect(secret.length).toBeGreaterThan(15);
  secrets.add(secret);
  return secret;
}

async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

async function mutate(text: string, as: string | null = token) {
  const answer = await service.ask(`mutation { ${text} }`, { token: as });
  expect(answer.errors).toBeUndefined();
  return answer.data;
}

/** Once with the resulting code exchanged, once with it rejected. */
async function logInThroughProvider(): Promise<void> {
  const claims = { sub: "first", email: "first@example.com", email_verified: true };
  for (const returnTo of [undefined, "https://other.example/app/"]) {
    const begun = await startLogin(service);
    keep(begun.state);
    keep(begun.cookie.split("=")[1] ?? "");
    const granted = keep(fake.grant(begun.authorization, { claims }));
    const code = keep(await codeOf(await requestCallback(service, begun, { code: granted })));
    const answer = await exchange(service, code, { returnTo });
    if (returnTo === undefined) keep(answer.data.exchangeLoginCode.token);
    else expect(answer.errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  }
}

async function makeAndEndTokens(): Promise<void> {
  const { devLogin } = await mutate(
    `devLogin(email: "first@example.com") { token user { id } }`,
    null,
  );
  keep(devLogin.token);
  for (const input of [`{ name: "a" }`, `{ name: "b", scopes: ["audit.read"] }`]) {
    const mine = await mutate(`createMyApiToken(input: ${input}) { id token }`);
    keep(mine.createMyApiToken.token);
    const theirs = await mutate(
      `createUserApiToken(userId: "${devLogin.user.id}", input: ${input}) { token }`,
    );
    keep(theirs.createUserApiToken.token);
    await mutate(`revokeApiToken(id: "${mine.createMyApiToken.id}")`);
  }
  // Adds a job to the queue.
  const [role] = await sql<{ id: string }>("select id from roles");
  await mutate(
    `createInvitation(input: { email: "new@example.com", roleId: "${role?.id}" }) { id }`,
  );
}

/** Secrets in invalid requests must not be stored either. */
async function sendSecretsWhereTheyDoNotBelong(): Promise<void> {
  await send(service.url, { path: `/graphql?token=${token}&access_token=${token}`, body: "{}" });
  await send(service.url, {
    method: "GET",
    path: `/auth/callback/main?code=${token}&state=${token}`,
  });
  await send(service.url, { body: `{"query": "{ me { id } }", "token": "${token}"` });
  await service.ask(`{ me(token: "${token}") { id } }`);
  await service.ask("query ($t: Int!) { me { id } }", { variables: { t: token } });
  await service.ask(
    `mutation { exchangeLoginCode(code: "${token}", returnTo: "${token}") { token } }`,
  );
  await service.ask("{ me { id } }", {
    headers: { authorization: `Basic ${token}`, cookie: token },
  });
  await service.ask("{ me { id } }", { token: `${token}0` });
}

describe("no secret", () => {
  /** An SQL pattern of each secret and its hash. */
  const patterns = () =>
    [...secrets]
      .flatMap((secret) => [secret, hashToken(secret).toString("hex")])
      .map((s) => `%${s}%`);

  test("is in any row of the database, and hashes are only in the columns for look-ups", async () => {
    const tables = await sql<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'm') and n.nspname !~ '^(pg_|information_schema)' order by 1`,
    );
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["graphile_worker._private_jobs", "sessions"]),
    );
    expect(secrets.size).toBeGreaterThan(12);
    expect(await sql("select from graphile_worker._private_jobs")).not.toEqual([]);
    const found: string[] = [];
    for (const { name } of tables) {
      const [row] = await sql<{ count: number }>(
        `select count(*)::integer as count from ${name} as t where t::text like any ($1)`,
        [patterns()],
      );
      if (row?.count) found.push(name);
    }
    expect(found.sort()).toEqual(["api_tokens", "sessions"]);
    for (const name of found) {
      const [row] = await sql<{ count: number }>(
        `select count(*)::integer as count from ${name} as t where t::text like any ($1)`,
        [[...secrets].map((secret) => `%${secret}%`)],
      );
      expect([name, row?.count]).toEqual([name, 0]);
    }
  });

  test("is in the log at its most verbose level", () => {
    const log = service.output();
    expect(log).toContain('"level":"info"');
    for (const secret of secrets) expect(log.includes(secret)).toBe(false);
    expect(log).not.toMatch(/\bbo[sal]_[\w-]{20}/);
  });

  test("is in a statement that the database stores", async () => {
    const [library] = await sql<{ there: boolean }>(
      "select current_setting('shared_preload_libraries') ~ 'pg_stat_statements' as there",
    );
    if (!library?.there) {
      console.warn("NOT TESTED: this PostgreSQL does not preload pg_stat_statements");
      return;
    }
    await sql("create extension if not exists pg_stat_statements with schema extensions");
    const [row] = await sql<{ statements: number; told: number }>(
      `select count(*)::integer as statements, count(*) filter (where query like any ($1))::integer as told
       from pg_stat_statements(true) s join pg_database d on d.oid = s.dbid and d.datname = current_database()`,
      [patterns()],
    );
    expect(row?.statements).toBeGreaterThan(20);
    expect(row?.told).toBe(0);
    const running = await sql(
      "select from pg_stat_activity where query like any ($1) and pid <> pg_backend_pid()",
      [patterns()],
    );
    expect(running).toEqual([]);
  });
});
