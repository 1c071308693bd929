import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { checkFunctions } from "../../src/migration/functions/check.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase, inTransaction } from "../helpers/database.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** The problems of all or some functions after statements that are rolled back. */
const problemsAfter = (statements: string[], only?: ReadonlySet<string>) =>
  inTransaction(database.pool, async (client) => {
    await client.query("set local role office_owner");
    for (const statement of statements) await client.query(statement);
    const problems = await checkFunctions(client, "backoffice", only);
    return problems.map(({ signature, line, message }) => `${signature}:${line}: ${message}`);
  });

/**
 * The problems of a PL/pgSQL function `f` on a table `cellars (id, name, size)`, whose column `nme` was renamed to
 * `name`.
 */
async function problemsOf(body: string, head = "f(id uuid) returns text", after = "select 1") {
  const all = await problemsAfter(
    [
      "create table cellars (id uuid, nme text, size integer)",
      `create function ${head} as $$${body}$$ language plpgsql`,
      after,
      "alter table cellars rename nme to name",
    ],
    new Set(["f(uuid)", "f()"]),
  );
  return all.map((one) => one.replace(/^[^:]*:/, ""));
}

describe("the function check", () => {
  test("accepts every function of the service", async () => {
    expect(await problemsAfter([])).toEqual([]);
  });

  test("finds a renamed column in the service's functions and triggers", async () => {
    const problems = await problemsAfter([
      "alter table campaigns rename column scheduled_at to starts_at",
    ]);
    expect(problems).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^create_campaign\(.*\):\d+: column "scheduled_at" of relation "campaigns" does not exist$/,
        ),
        expect.stringMatching(
          /^tg_campaigns__check\(\):\d+: record "new" has no field "scheduled_at" \(on campaigns\)$/,
        ),
        expect.stringMatching(
          /^update_campaign\(.*\):\d+: record "v_new" has no field "scheduled_at"$/,
        ),
      ]),
    );
  });

  test("finds a renamed column in SQL functions", async () => {
    const problems = await problemsAfter([
      "alter table product_prices rename column currency to currency_code",
    ]);
    expect(problems).toContainEqual(
      expect.stringMatching(/^products_list_price\(.*\):\d+: column x.currency does not exist$/),
    );
  });

  test("finds a renamed enumeration value", async () => {
    const problems = await problemsAfter([
      "alter type campaign_status rename value 'DRAFT' to 'SKETCH'",
    ]);
    expect(problems).toContainEqual(
      expect.stringMatching(
        /^create_campaign\(.*\):\d+: invalid input value for enum campaign_status: "DRAFT"$/,
      ),
    );
  });

  test.each([
    [
      "a condition",
      "begin\nif exists (select from cellars c where c.nme = '') then return 1; end if; return 2;\nend",
      "2: column c.nme does not exist",
    ],
    [
      "a branch that nothing reaches",
      "begin\nif false then\nupdate cellars set nme = 'x';\nend if; return null; end",
      '3: column "nme" of relation "cellars" does not exist',
    ],
    [
      "the record of a loop",
      "declare r record; begin\nfor r in select c.name from cellars c loop\nraise notice '%', r.nme;\nend loop; return null; end",
      '3: record "r" has no field "nme"',
    ],
    [
      "the record of `into`",
      "declare r record; begin\nselect c.* into r from cellars c;\nreturn r.nme; end",
      '3: record "r" has no field "nme"',
    ],
    [
      "the record of a change",
      "declare r record; begin\nupdate cellars c set size = 1 returning c.* into r;\nreturn r.nme; end",
      '3: record "r" has no field "nme"',
    ],
    [
      "a variable of a row",
      "declare v cellars;\nbegin\nv.nme := 'x';\nreturn null; end",
      '3: record "v" has no field "nme"',
    ],
    [
      "a declaration",
      "declare\nv cellars.nme%type;\nbegin return v; end",
      '2: column "nme" of relation "cellars" does not exist',
    ],
    [
      "a default",
      "declare\nv text := (select c.nme from cellars c);\nbegin return v; end",
      "2: column c.nme does not exist",
    ],
    [
      "an exception handler",
      "begin\nreturn 1;\nexception when others then\nreturn (select c.nme from cellars c); end",
      "4: column c.nme does not exist",
    ],
    [
      "a case",
      "begin\ncase id when null then\nreturn (select c.nme from cellars c); else return null; end case; end",
      "3: column c.nme does not exist",
    ],
    [
      "a cursor",
      "declare\nk cursor for select c.nme from cellars c;\nbegin open k; return null; end",
      "2: column c.nme does not exist",
    ],
    [
      "a nested block with a label",
      "begin\n<<deeper>> declare v text; begin\ndeeper.v := (select c.nme from cellars c);\nend; return null; end",
      "3: column c.nme does not exist",
    ],
    [
      "a missing function",
      "begin\nreturn cellar_label(id); end",
      "2: function cellar_label(uuid) does not exist",
    ],
    [
      "a missing table",
      "begin\ndelete from cellar; return null; end",
      '2: relation "cellar" does not exist',
    ],
    [
      "an operator that a changed type lacks",
      "begin\nreturn (select c.name from cellars c where c.size = c.id); end",
      "2: operator does not exist: integer = uuid",
    ],
  ])("finds a wrong name in %s", async (_what, body, problem) => {
    expect(await problemsOf(body)).toEqual([problem]);
  });

  test("finds a query that no longer matches the function's result columns", async () => {
    expect(
      await problemsOf(
        "begin\nreturn query select c.name, c.size from cellars c; end",
        "f() returns table (name_of text, size_of text)",
      ),
    ).toEqual(["2: structure of query does not match function result type"]);
  });

  test("finds transition table columns in trigger functions", async () => {
    expect(
      await problemsOf(
        "begin\nif tg_op = 'INSERT' then perform count(i.nme) from inserted i; end if; return null; end",
        "f() returns trigger",
        "create trigger t after insert on cellars referencing new table as inserted for each statement execute function f()",
      ),
    ).toEqual(["2: column i.nme does not exist (on cellars)"]);
  });

  test.each([
    [
      "a parameter with the function's name before it",
      "begin return (select c.name from cellars c where c.id = f.id); end",
    ],
    [
      "a block with the function's name as its label",
      "begin\n<<f>> declare v text; begin\nf.v := 'x'; end;\nreturn null; end",
    ],
    [
      "variables of one name and two types",
      "begin\ndeclare v integer := 1; begin\nperform v + 1; end;\ndeclare v text := 'a'; begin\nreturn upper(v); end; end",
    ],
    [
      "a record that dynamic SQL fills",
      "declare r record; begin execute 'select 1 as a' into r; return r.a; end",
    ],
    [
      "a query that would fail for its values",
      "begin return (select (1 / (c.size - c.size))::text from cellars c); end",
    ],
    [
      "changes, without making any",
      "begin insert into cellars (name) values ('x') returning name into id; return null; end",
    ],
    [
      "a line that a comment allows",
      "begin\ncreate temp table scratch (a int);\n-- lint: allow function-body because the line above makes the table\ninsert into scratch values (1);\nreturn null; end",
    ],
  ])("accepts %s", async (_what, body) => {
    expect(await problemsOf(body)).toEqual([]);
  });

  test("leaves the transaction unchanged", async () => {
    await inTransaction(database.pool, async (client) => {
      const state = `select current_user, current_setting('search_path') as path, current_setting('check_function_bodies') as bodies,
        (select count(*) from pg_proc) as functions, (select count(*) from pg_namespace) as schemas`;
      const before = await client.query(state);
      await checkFunctions(client, "backoffice");
      expect((await client.query(state)).rows).toEqual(before.rows);
    });
  });

  test("uses plpgsql_check when it is installed, with the same result", async () => {
    const { rows } = await database.pool.query(
      "select from pg_available_extensions where name = 'plpgsql_check'",
    );
    if (rows.length === 0) {
      process.stderr.write(
        "\ntest/migration/functions.test.ts: NOT RUN with plpgsql_check: this PostgreSQL has no such extension\n",
      );
      return;
    }
    await database.pool.query("create extension plpgsql_check schema extensions");
    expect(await problemsAfter([])).toEqual([]);
    expect(await problemsOf("begin return (select nme from cellars c limit 1); end")).toEqual([
      '1: column "nme" does not exist',
    ]);
  });
});
