import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { poolFor } from "../../src/postgres/pools.ts";
import { own, seedDatabase } from "../../dev/access/seed.ts";
import { allPermissions } from "../helpers/apiToken.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { makeHiding } from "../helpers/graphql/hiddenRows.ts";
import { type Stage, findLeaks, findWrites, tokenOf } from "../helpers/graphql/unguardedChecks.ts";
import { makeUnguarded } from "../helpers/graphql/withoutGuards.ts";

let database: TestDatabase;
let pool: pg.Pool;
let stage: Stage;

beforeAll(async () => {
  database = await createDatabase();
  await seedDatabase(database.pool);
  // Nothing has expired, and the caller is in a department.
  await database.pool
    .query(`update users set department_id = (select id from departments order by id limit 1) where id = '${own.user}';
    update sessions set idle_expires_at = now() + interval '1 day', expires_at = now() + interval '1 day';
    update api_tokens set expires_at = now() + interval '1 day';
    update invitations set expires_at = now() + interval '1 day'`);
  const { rows } = await database.pool.query<{ id: string }>(
    "select id from api_tokens where user_id = $1",
    [own.user],
  );
  pool = poolFor(database.url, "office_server", 4, { responseTimeoutMs: 60_000 });
  stage = {
    database,
    api: await makeUnguarded(pool, database.pool),
    hiding: await makeHiding(database.pool),
    keys: await allPermissions(database),
    tokenId: rows[0]?.id ?? "",
  };
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const named = (name: string) => stage.api.fields.filter((field) => field.name === name);
const fieldsOf = (wanted: "query" | "mutation") =>
  stage.api.fields.filter(({ kind, guard }) => kind === wanted && guard !== "public");

describe("without the guards of the root fields", () => {
  test("every table has rows, so that an empty result is a rejection", async () => {
    expect(await stage.hiding.empty()).toEqual([]);
    expect(stage.hiding.tables.length).toBeGreaterThan(25);
  });

  test("no query returns a row that its caller cannot read", async () => {
    expect(fieldsOf("query").length).toBeGreaterThan(20);
    expect(await findLeaks(stage, fieldsOf("query"))).toEqual([]);
  });

  test("every mutation writes nothing for a caller who lacks one of the permissions", async () => {
    expect(fieldsOf("mutation").length).toBeGreaterThan(20);
    const guarded = fieldsOf("mutation").filter(({ name }) => name !== "revokeCurrentApiToken");
    expect(await findWrites(stage, guarded)).toEqual([]);
  });

  test("revokeCurrentApiToken writes for any token, but only to that token and the audit log", async () => {
    expect(await findWrites(stage, named("revokeCurrentApiToken"))).toEqual([
      expect.stringMatching(
        /^revokeCurrentApiToken wrote api_tokens, audit_log for a scoped token/,
      ),
    ]);
    const { rows } = await database.pool.query<{ id: string }>(
      "select id from api_tokens where revoked_at >= now() - interval '10 minutes'",
    );
    expect(rows).toEqual([{ id: stage.tokenId }]);
  });
});

describe("the check without guards", () => {
  test("accepts rows that a caller can read", async () => {
    const identity = tokenOf(stage.tokenId, ["users.read"]);
    for (const field of named("users")) {
      const { data } = await stage.api.run(field, identity);
      expect(JSON.stringify(data)).toContain("inactive@example.com");
      const caller = { name: "a reader", expectedAs: ["users.read"], identity };
      expect(await findLeaks(stage, [field], [caller])).toEqual([]);
    }
  });

  test("finds a policy that lets everyone read", async () => {
    await database.pool.query(
      "create policy planted on customers for select to office_api using (true)",
    );
    const leaks = await findLeaks(stage, named("customers"));
    expect(leaks).toContain("customers by nobody");
    expect(leaks).toContain("customers by a token of erpsync.read alone");
    expect(leaks).not.toContain("customers by a token of customers.read alone");
    await database.pool.query("drop policy planted on customers");
  });

  test("finds a policy that lets everyone write, and a guard without a check in the database", async () => {
    // Each wine type has a product, so a change is queued for the search engine. The order of the changes is random.
    await database.pool.query(
      `insert into products (erp_product_number, name, wine_type_id) select 'shows ' || id, 'A wine', id from wine_types;
       create policy planted on wine_types for update to office_api using (true) with check (true)`,
    );
    expect(await findWrites(stage, named("updateWineType"))).toEqual([
      expect.stringMatching(
        /^updateWineType wrote audit_log, row_changes, wine_types for .*a token of all but products.update/,
      ),
    ]);
    await database.pool.query("drop policy planted on wine_types");
    const lying = named("deleteAllCampaigns").map((field) => ({ ...field, guard: ["ai.use"] }));
    expect(await findWrites(stage, lying)).toEqual([
      expect.stringMatching(
        /^deleteAllCampaigns wrote audit_log, campaigns, row_changes for .*a token of all but ai.use/,
      ),
    ]);
  });

  test("finds functions that bypass policies to count rows or to return rows of a closed table", async () => {
    await database.pool.query(
      `set role office_owner;
       create function product_count() returns integer as 'select count(*)::integer from products'
         language sql stable security definer set search_path from current;
       create function all_logins() returns setof session_view as $$
         select l.* from users u, live_sessions(u.id) as l
       $$ language sql stable security definer set search_path from current;
       comment on function product_count is '@guard campaigns.read\nHow many.';
       comment on function all_logins is '@guard users.update\nAll of them.';
       grant execute on function product_count, all_logins to office_api;
       reset role`,
    );
    const planted = { ...stage, api: await makeUnguarded(pool, database.pool) };
    const fields = planted.api.fields.filter(({ name }) =>
      ["productCount", "allLogins"].includes(name),
    );
    const leaks = await findLeaks(planted, fields);
    // A guard may allow rows only of a table that has no policy for the caller.
    for (const leak of [
      "productCount by nobody",
      "productCount by a token of campaigns.read alone",
      "allLogins by nobody",
      "allLogins by a token of users.read alone",
    ])
      expect(leaks).toContain(leak);
    expect(leaks).not.toContain("allLogins by a token of users.update alone");
    expect(leaks).not.toContain("productCount by a token of products.read alone");
  });
});
