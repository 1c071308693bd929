import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { allPermissions, insertApiToken } from "../helpers/apiToken.ts";
import { send } from "../helpers/http.ts";
import type { Answer, Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";
import { bootstrap, run } from "../helpers/http/testRuns.ts";

let service: Service;
let staff: { token: string; userId: string; roleId: string };

beforeAll(async () => {
  service = await startService({ env: { ENABLE_E2E_TEST_MODE: "true" } });
  staff = await service.login(["reviewers.read", "reviewers.create"]);
});
afterAll(() => service.stop());

const create = `mutation ($name: String!) { createReviewer(input: { name: $name }) { id name updatedAt } }`;
const ask = (
  key: string,
  query: string,
  variables: Record<string, unknown> = {},
  token = staff.token,
  headers: Record<string, string> = {},
) => service.ask(query, { token, variables, headers: { "Idempotency-Key": key, ...headers } });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});
/** The number of reviewers with this name, and of their audited creations. */
async function effects(name: string) {
  const { rows } = await service.database.pool.query<{ rows: number; records: number }>(
    `select (select count(*)::integer from reviewers where name = $1) as rows,
       (select count(*)::integer from audit_log where entity_type = 'Reviewer' and operation = 'CREATE' and after ->> 'name' = $1) as records`,
    [name],
  );
  return rows[0];
}
const once = { rows: 1, records: 1 };
const some = () => ({ key: randomUUID(), name: `Reviewer ${randomUUID()}` });

describe("a mutation repeated with its Idempotency-Key", () => {
  test("gets the first response and has no second effect", async () => {
    const { key, name } = some();
    const first = await ask(key, create, { name });
    expect(first.errors).toBeUndefined();
    expect(first.data.createReviewer.name).toBe(name);
    const again = await ask(key, create, { name });
    expect({ status: again.status, data: again.data, errors: again.errors }).toEqual({
      status: 200,
      data: first.data,
      errors: undefined,
    });
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await effects(name)).toEqual(once);
    // Also after the created row was changed or deleted.
    await service.database.pool.query("delete from reviewers where name = $1", [name]);
    expect((await ask(key, create, { name })).data).toEqual(first.data);
    expect(await effects(name)).toEqual({ rows: 0, records: 1 });
  });

  test("is identified by all of its fields", async () => {
    const { key, name } = some();
    const both = `mutation ($a: String!, $b: String!) { a: createReviewer(input: { name: $a }) { id } b: createReviewer(input: { name: $b }) { id } }`;
    const first = await ask(key, both, { a: name, b: `${name} b` });
    expect(Object.keys(first.data)).toEqual(["a", "b"]);
    const again = await ask(key, both, { a: name, b: `${name} b` });
    expect(JSON.stringify(again.data)).toBe(JSON.stringify(first.data));
    expect([await effects(name), await effects(`${name} b`)]).toEqual([once, once]);
  });

  test("takes effect once in twenty concurrent requests", async () => {
    const { key, name } = some();
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(key, create, { name })));
    const ids = new Set(answers.map(({ data, errors }) => data?.createReviewer?.id ?? errors));
    expect([...ids]).toEqual([expect.any(String)]);
    expect(await effects(name)).toEqual(once);
  });

  test.each([
    ["other variables", create, { name: "Someone else" }],
    [
      "another document",
      `mutation ($name: String!) { createReviewer(input: { name: $name }) { id } }`,
      null,
    ],
  ])("is rejected with %s", async (_what, query, variables) => {
    const { key, name } = some();
    await ask(key, create, { name });
    const { data, errors } = await ask(key, query, variables ?? { name });
    expect(data ?? null).toBeNull();
    expect(errors).toMatchObject([
      {
        message: expect.stringMatching(/^This Idempotency-Key was used for another request/),
        extensions: { code: "IDEMPOTENCY_CONFLICT", header: "Idempotency-Key" },
      },
    ]);
    expect(await effects("Someone else")).toEqual({ rows: 0, records: 0 });
  });

  test("runs again after a failure, which stores no key", async () => {
    const { key, name } = some();
    await ask(randomUUID(), create, { name });
    expect(refusal(await ask(key, create, { name })).code).toBe("CONFLICT");
    await service.database.pool.query("delete from reviewers where name = $1", [name]);
    expect((await ask(key, create, { name })).data.createReviewer.name).toBe(name);
    // The key is stored only now, for this mutation.
    expect(refusal(await ask(key, create, { name: `${name}!` })).code).toBe("IDEMPOTENCY_CONFLICT");
  });

  test("runs again a day later", async () => {
    const { key, name } = some();
    const first = await ask(key, create, { name });
    await service.database.pool.query(
      "update idempotency_keys set created_at = created_at - interval '24 hours'",
    );
    await service.database.pool.query("delete from reviewers where name = $1", [name]);
    const later = await ask(key, create, { name });
    expect(later.data.createReviewer.id).not.toBe(first.data.createReviewer.id);
    expect((await ask(key, create, { name })).data).toEqual(later.data);
  });

  test("runs each time without a key; queries ignore the key", async () => {
    const { key, name } = some();
    const plain = () => service.ask(create, { token: staff.token, variables: { name } });
    expect((await plain()).errors).toBeUndefined();
    expect(refusal(await plain()).code).toBe("CONFLICT");
    const names = async () =>
      (await ask(key, `{ reviewers { name } }`)).data.reviewers.length as number;
    const before = await names();
    await ask(randomUUID(), create, { name: some().name });
    expect(await names()).toBe(before + 1);
  });
});

describe("an Idempotency-Key", () => {
  test("belongs to a user, across the user's sessions", async () => {
    const { key, name } = some();
    const first = await ask(key, create, { name });
    const other = await service.login(["reviewers.create"]);
    expect(refusal(await ask(key, create, { name }, other.token)).code).toBe("CONFLICT");
    const { token } = await insertApiToken(service.database, staff.userId);
    expect(refusal(await ask(key, create, { name }, token)).code).toBe("CONFLICT");
    const theirs = await ask(key, create, { name: `${name} theirs` }, other.token);
    expect(theirs.errors).toBeUndefined();
    expect((await ask(key, create, { name })).data).toEqual(first.data);
  });

  test("belongs to a tenant", async () => {
    const { key, name } = some();
    await ask(key, create, { name });
    const headers = run("idempotency");
    const { token } = await bootstrap(service, headers, "first@example.com");
    const there = await ask(key, create, { name: "Of the run" }, token, headers);
    expect(there.data.createReviewer.name).toBe("Of the run");
    expect(await effects("Of the run")).toEqual({ rows: 0, records: 0 });
    expect((await ask(key, create, { name: "Of the run" }, token, headers)).data).toEqual(
      there.data,
    );
    await service.ask("mutation { cleanupTestRun }", { headers });
  });

  test("no longer shows fields whose permission was revoked", async () => {
    const { key, name } = some();
    const leaver = await service.login(["reviewers.create", "reviewers.read"]);
    await ask(key, create, { name }, leaver.token);
    await service.database.pool.query(
      "delete from role_permissions rp using permissions p where rp.role_id = $1 and p.id = rp.permission_id and p.key = 'reviewers.create'",
      [leaver.roleId],
    );
    const { data, errors } = await ask(key, create, { name }, leaver.token);
    expect(data ?? null).toBeNull();
    expect(errors).toMatchObject([{ extensions: { code: "FORBIDDEN" } }]);
    expect(JSON.stringify(errors)).not.toContain(name);
    // Nor to a caller whose session has ended.
    await service.database.pool.query("update users set is_active = false where id = $1", [
      leaver.userId,
    ]);
    expect(refusal(await ask(key, create, { name }, leaver.token)).code).toBe("UNAUTHENTICATED");
  });

  test("stores no new token, and a repetition is rejected and creates none", async () => {
    const key = randomUUID();
    const make = `mutation { createMyApiToken(input: { name: "Script" }) { id token name } }`;
    const first = await ask(key, make);
    const { token, id } = first.data.createMyApiToken;
    expect(token).toMatch(/^boa_/);
    const again = await ask(key, make);
    expect(again.data ?? null).toBeNull();
    expect(refusal(again)).toEqual({
      code: "CONFLICT",
      message: expect.stringMatching(
        /^This request was completed before; its response contained a secret that is shown only once/,
      ),
    });
    const { rows } = await service.database.pool.query<{ tokens: string[]; kept: string }>(
      `select (select array_agg(id::text) from api_tokens where user_id = $1 and name = 'Script') as tokens,
         (select string_agg(k::text, '') from idempotency_keys k) as kept`,
      [staff.userId],
    );
    expect(rows[0]?.tokens).toEqual([id]);
    expect(rows[0]?.kept).not.toMatch(/bo[sal]_/);
    expect(rows[0]?.kept).not.toContain(key);
    // A response without the secret is stored like any other.
    const other = randomUUID();
    const quiet = `mutation { createMyApiToken(input: { name: "Quiet" }) { id name } }`;
    expect((await ask(other, quiet)).data).toEqual((await ask(other, quiet)).data);
  });

  test("is ignored by logins", async () => {
    const key = randomUUID();
    await service.login([], "anna@example.com");
    const login = () =>
      service.ask(`mutation { devLogin(email: "anna@example.com") { token } }`, {
        headers: { "Idempotency-Key": key },
      });
    const [first, second] = [await login(), await login()];
    expect(first.data.devLogin.token).not.toBe(second.data.devLogin.token);
  });

  const tokenHeader = () => ["authorization", `Bearer ${staff.token}`] as [string, string];
  test.each([
    ["is empty", [["Idempotency-Key", ""]]],
    ["has 256 characters", [["Idempotency-Key", "a".repeat(256)]]],
    ["is not ASCII", [["Idempotency-Key", "n\u00f8gle"]]],
    ["holds a tab", [["Idempotency-Key", "a\tb"]]],
    [
      "comes twice",
      [
        ["Idempotency-Key", "a"],
        ["idempotency-key", "a"],
      ],
    ],
  ] as [string, [string, string][]][])("that %s is rejected", async (_what, headers) => {
    const { name } = some();
    const answer = await send(service.url, {
      headers: [["content-type", "application/json"], tokenHeader(), ...headers],
      body: JSON.stringify({ query: create, variables: { name } }),
    });
    expect(answer).toMatchObject({
      status: 200,
      json: {
        errors: [
          {
            message: "Idempotency-Key must be 1 to 255 printable ASCII characters, given once",
            extensions: { code: "BAD_USER_INPUT", header: "Idempotency-Key" },
          },
        ],
      },
    });
    expect(await effects(name)).toEqual({ rows: 0, records: 0 });
  });

  test("of 255 characters of all kinds is accepted", async () => {
    const printable = Array.from({ length: 94 }, (_, n) => String.fromCharCode(33 + n)).join("");
    const key = printable.repeat(3).slice(0, 255);
    const { name } = some();
    const first = await ask(key, create, { name });
    expect((await ask(key, create, { name })).data).toEqual(first.data);
    expect(await effects(name)).toEqual(once);
  });
});

test("a stored response is audited each time it is returned", async () => {
  const { token } = await service.login(await allPermissions(service.database));
  const key = randomUUID();
  const invite = `mutation ($roleId: ID!) { createInvitation(input: { email: "new@example.com", roleId: $roleId }) { id email } }`;
  const variables = { roleId: staff.roleId };
  const { data } = await ask(key, invite, variables, token);
  expect(data.createInvitation.email).toBe("new@example.com");
  const reads = async () => {
    const { rows } = await service.database.pool.query(
      "select from audit_log where operation = 'READ' and entity_type = 'Invitation' and entity_id = $1",
      [data.createInvitation.id],
    );
    return rows.length;
  };
  const before = await reads();
  expect((await ask(key, invite, variables, token)).data).toEqual(data);
  expect(await reads()).toBe(before + 1);
});
