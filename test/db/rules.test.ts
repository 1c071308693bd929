import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { PoolClient } from "pg";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { engineViolations } from "../helpers/db/engineViolations.ts";
import { policyViolations } from "../helpers/db/policyViolations.ts";
import { privilegeViolations } from "../helpers/db/privilegeViolations.ts";
import { searchViolations, validSearches } from "../helpers/db/searchViolations.ts";
import { validTable } from "../helpers/db/validTable.ts";
import { tableViolations } from "../helpers/db/tableViolations.ts";
import { tagViolations } from "../helpers/db/tagViolations.ts";
import { viewViolations, validViews } from "../helpers/db/viewViolations.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

/** The violations after a statement, which is rolled back. */
async function violationsAfter(sql: string): Promise<string[]> {
  return inTransaction(database.pool, async (client) => {
    await client.query(sql);
    const { rows } = await client.query<{ violation: string }>(
      "select v as violation from schema_violations() as v order by 1",
    );
    return rows.map((row) => row.violation);
  });
}

describe("The warnings", () => {
  const warningsAfter = (sql: string) =>
    inTransaction(database.pool, async (client) => {
      await client.query(`${validTable}; ${sql}`);
      const { rows } = await client.query<{ warning: string }>(
        "select w as warning from schema_warnings() as w where w like '%planted%'",
      );
      return rows.map(({ warning }) => warning);
    });
  const lines = `create table planted_lines (planted_id uuid references planted on delete cascade, place integer, primary key (planted_id, place));
    comment on table planted_lines is E'@read products.read\\n@audit PlantedLine planted_id\\nLines.'`;

  test.each([
    {
      what: "a query with the privileges of its owner that checks nobody",
      sql: "select 1",
      warning:
        "function planted_things(text): is a query with the privileges of its owner and does not check the caller, so it may show rows that the policies hide; write `security invoker`, or check by `require_permission`",
    },
    {
      what: "a mutation with the privileges of its owner that checks nobody",
      sql: `create function planted_wipe() returns boolean as $$ delete from planted returning true $$ language sql volatile security definer set search_path from current;
        comment on function planted_wipe is E'@guard principal\\nEmpties it.'`,
      warning:
        "function planted_wipe(): is a mutation with the privileges of its owner and does not check the caller, so everyone whom `@guard principal` lets through may do it; name a permission there, or check by `require_permission`",
    },
    {
      what: "a mutation that creates rows of any user",
      sql: `create table planted_notes (id uuid primary key default uuidv7(), user_id uuid not null references users, note text);
        create index on planted_notes (user_id);
        comment on table planted_notes is E'@read products.read\\n@create products.update\\n@mutations create\\n@audit PlantedNote\\nNotes.'`,
      warning:
        "table planted_notes: a mutation creates rows for any user of user_id; add `@owner user_id` if rows belong to this user, or name the column by what the user does, such as `assigned_user_id`",
    },
    {
      what: "rows that do not return with those that they were deleted with",
      sql: lines,
      warning:
        "table planted_lines: its rows are deleted with those of planted and do not return with them; add `@create <permission>`, which also says who may restore them",
    },
    {
      what: "amounts without a currency",
      sql: `alter table planted add column fee numeric(8, 2); comment on column planted.fee is E'@widget money\\nThe fee.'`,
      warning:
        "column planted.fee: has `@widget money`, but the row has no column `fee_currency` or `currency`, so the console shows amounts without a currency; add one, or write `@unit DKK` instead",
    },
    {
      what: "a table without a primary key",
      sql: `${lines}; alter table planted_lines drop constraint planted_lines_pkey`,
      warning:
        "table planted_lines: has no primary key, so the console does not list it and no mutation changes its rows",
    },
  ])("name $what", async ({ sql, warning }) => {
    expect(await warningsAfter(sql)).toContain(warning);
  });

  test.each([
    ["names a permission", "products.update", "delete from planted returning true"],
    [
      "calls a function that checks",
      "login",
      "delete from planted where absence_to_change(planted.id, false) is not null returning true",
    ],
  ])("accept a mutation that %s", async (_what, guard, body) => {
    const sql = `create function planted_wipe() returns boolean as $$ ${body} $$ language sql volatile security definer set search_path from current;
      comment on function planted_wipe is E'@guard ${guard}\\nEmpties it.'`;
    expect(await warningsAfter(sql)).not.toContainEqual(expect.stringContaining("planted_wipe"));
  });

  test("accept a query that checks the caller, and lines with a permission to create them", async () => {
    const sql = `create or replace function planted_things(note text) returns text as $$
        select planted_things.note where has_permission('products.read') $$ language sql stable security definer set search_path from current;
      ${lines.replace("@audit", "@create products.update\\n@audit")}`;
    expect(await warningsAfter(sql)).toEqual([]);
  });
});

describe("The schema rules", () => {
  test("are satisfied by this schema", async () => {
    expect(await violationsAfter("select 1")).toEqual([]);
  });

  test("are satisfied by the table and function that the violations start from", async () => {
    expect(await violationsAfter(validTable)).toEqual([]);
  });

  test("accept an index without rows whose foreign key is null", async () => {
    const sql =
      "drop index planted_product_id_idx; create index on planted (product_id) where product_id is not null";
    expect(await violationsAfter(`${validTable}; ${sql}`)).toEqual([]);
  });

  test("accept a label that is a computed field", async () => {
    const sql = `create function planted_words(planted planted) returns text as $$ select planted.note $$ language sql stable;
      comment on function planted_words is E'@computed\\nA field of the test.';
      grant execute on function planted_words to office_api;
      do $do$ begin execute format('comment on table planted is %L', '@label words note' || chr(10) || obj_description('planted'::regclass)); end $do$`;
    expect(await violationsAfter(`${validTable}; ${sql}`)).toEqual([]);
  });

  test("accept tags with blanks at their ends", async () => {
    const sql = `alter table planted add column user_id uuid references users on delete cascade;
      create index planted_user_id_idx on planted (user_id);
      comment on table planted is E'@read login \n@create login\t\n@mutations create \n@owner user_id  \n@audit Planted\nA table.';
      select protect_table('planted')`;
    expect(await violationsAfter(`${validTable}; ${sql}`)).toEqual([]);
  });

  test.each([...validSearches, ...validViews])("accept $what", async ({ sql }) => {
    expect(await violationsAfter(`${validTable}; ${sql}`)).toEqual([]);
  });

  describe("from the valid table and function", () => {
    let client: PoolClient;
    let before: string | undefined;

    const fingerprint = async () =>
      (await client.query<{ f: string }>("select schema_fingerprint() as f")).rows[0]?.f;

    beforeAll(async () => {
      client = await database.pool.connect();
      await client.query("begin");
      await client.query(validTable);
      before = await fingerprint();
    });

    // Changes get a transaction id of their own, as those after a migration.
    beforeEach(() => client.query("savepoint planted"));
    afterEach(() => client.query("rollback to savepoint planted"));

    afterAll(async () => {
      await client.query("rollback");
      client.release();
    });

    test.each([
      ...tableViolations,
      ...tagViolations,
      ...viewViolations,
      ...searchViolations,
      ...engineViolations,
      ...privilegeViolations,
      ...policyViolations,
    ])("detect $what", async ({ sql, violations }) => {
      await client.query(sql);
      const { rows } = await client.query<{ violation: string }>(
        "select v as violation from schema_violations() as v order by 1",
      );
      expect(rows.map((row) => row.violation)).toEqual(violations);
      expect(await fingerprint()).not.toBe(before);
    });
  });

  test("are not checked again by a server that starts after the migrate command, unless the schema was changed", async () => {
    const isChecked = async () =>
      (await database.pool.query<{ is: boolean }>("select is_checked_schema() as is")).rows[0]?.is;
    expect(await isChecked()).toBe(true);
    // Changes that the rules do not depend on.
    await database.pool.query("analyze; insert into reviewers (name) values ('Anna')");
    expect(await isChecked()).toBe(true);
    // Privileges of roles, and memberships of the roles that they are members of.
    for (const sql of [
      "alter role office_api createrole",
      "create role planted_outer; create role planted_inner; grant planted_outer to office_api; grant planted_inner to planted_outer",
      "revoke execute on function extensions.similarity(text, text) from public",
    ])
      await inTransaction(database.pool, async (client) => {
        await client.query(sql);
        const { rows } = await client.query<{ is: boolean }>("select is_checked_schema() as is");
        expect(rows).toEqual([{ is: false }]);
      });
    await database.pool.query("grant truncate on products to office_worker");
    expect(await isChecked()).toBe(false);
    await database.pool.query("revoke truncate on products from office_worker");
    expect(await isChecked()).toBe(false);
  });
});
