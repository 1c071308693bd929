import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import {
  createExtraSqlDir,
  runMigrate,
  runMigrateProcess,
} from "../helpers/migration/extraSqlDir.ts";

const allow = (rule: string) => `-- lint: allow ${rule} because this shows what is refused later\n`;
const cellars = `create table cellars (id uuid primary key default uuidv7(), name text collate display_order not null, place text);
comment on table cellars is '@read products.read\n@create products.create\n@mutations create\n@audit Cellar\nWhere wine lies.';
comment on column cellars.name is 'What it is called.';
comment on column cellars.place is 'Where it is.';`;
const label = `create or replace function cellar_label(id uuid) returns text as $$
declare
  v_label text;
begin
  select c.name || ', ' || c.place into v_label from cellars c where c.id = cellar_label.id;
  return v_label;
end;
$$ language plpgsql stable;
comment on function cellar_label is 'Its name and place.';
`;
const rename = `${allow("rename")}alter table cellars rename column place to city;`;

let database: TestDatabase;
let own: ExtraSqlDir;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  own = await createExtraSqlDir();
  await own.migration("cellars", cellars);
});
afterEach(() => own.remove());

const migrate = (...args: string[]) => runMigrate(database.url, own.path, args);
async function columns(): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string }>(
    "select attname as name from pg_attribute where attrelid = to_regclass('cellars') and attnum > 0 order by attnum",
  );
  return rows.map(({ name }) => name);
}

describe("the migrate command", () => {
  test("lists additions to the API, root fields first", async () => {
    const { code, output } = await migrate();
    expect(output).toMatch(
      /The migration adds to the API:\n {2}\+ Query\.cellar: Cellar\n {2}\+ .*\n(?: {2}[+…] .*\n)*applying 0001_cellars/,
    );
    expect(output).toContain("  + type Cellar\n");
    // Arguments of a new field are not listed.
    expect(output).not.toContain("  + Query.cellar(");
    expect(code).toBe(0);
  });

  test("lists nothing when the API does not change", async () => {
    const { code, output } = await migrate();
    expect(output).toBe("The database is prepared\n");
    expect(code).toBe(0);
  });

  test("rejects a rename that breaks a function and callers, and names both", async () => {
    await own.logic("cellars", label);
    await own.migration("rename", rename);
    const { code, output } = await runMigrateProcess(database.url, own.path);
    expect(output).toContain(
      "One place in functions would fail at the next call, nothing was changed:",
    );
    expect(output).toMatch(
      / {2}- \S*logic\/cellars\.sql:5: cellar_label\(uuid\): column c\.place does not exist\n/,
    );
    expect(output).toContain(
      "This migration would break callers of the API; nothing was changed:\n",
    );
    expect(output).toContain("  - Cellar.place was removed.\n");
    expect(output).toContain("`-- --allow-breaking` after `npm run db:migrate`");
    expect(code).toBe(1);
    expect(await columns()).toContain("place");
  });

  test("rejects a broken function even when breaking changes are allowed", async () => {
    await own.logic("cellars", label);
    await own.migration("rename", rename);
    const { code, output } = await migrate("--allow-breaking");
    expect(output).toContain("The migration takes from the API (--allow-breaking):\n");
    expect(output).toContain("would fail at the next call");
    expect(code).toBe(1);
    expect(await columns()).toContain("place");
  });

  test("rejects a changed type", async () => {
    await own.migration(
      "type",
      `${allow("alter-type")}alter table cellars alter column place type integer using 0;`,
    );
    const { code, output } = await migrate();
    expect(output).toContain("  - Cellar.place changed type from String to Int.\n");
    expect(code).toBe(1);
  });

  test("rejects a violation of the linter's rules, and prints the line that fixes it", async () => {
    await own.migration("rename", rename.replace(allow("rename"), ""));
    await own.migration("late", "select 1;\nselct 2;");
    await own.migration("quick", "create index concurrently cellars_name_idx on cellars (name);");
    await own.migration("named", "alter table backoffice.cellars add column size integer;");
    const { code, output } = await migrate();
    expect(output).toContain("The new migrations break 4 rules, nothing was changed:");
    expect(output).toMatch(
      / {2}- \S*0002_rename\.sql:1: This renames cellars\.place\. .*\n {4}> alter table cellars rename column place to city;\n {4}To accept it knowingly, write above the statement: -- lint: allow rename because <reason>\n/,
    );
    expect(output).toMatch(
      /0003_late\.sql:2: PostgreSQL cannot parse this: syntax error at or near "selct"\.\n {4}> selct 2;\n/,
    );
    expect(output).toMatch(/0004_quick\.sql:1: `concurrently` cannot run in a transaction, .*\n/);
    expect(output).toMatch(/0005_named\.sql:1: The schema backoffice is written out, .*\n/);
    expect(code).toBe(1);
  });

  test("rejects an unknown option", async () => {
    const { code, output } = await migrate("--allow-braking");
    expect(output).toContain(
      "There is no option --allow-braking (did you mean `--allow-breaking`?)\nUsage: npm run db:migrate -- ",
    );
    expect(code).toBe(2);
  });

  test("warns of a function that was already broken, and continues", async () => {
    await database.pool.query(
      `set role office_owner; ${label.replace("c.place", "c.town")} reset role`,
    );
    await own.logic("cellars", label.replace("c.place", "c.town"));
    const { code, output } = await migrate();
    expect(output).toMatch(
      /WARNING: fails at its next call, as before this migration: \S*cellars\.sql:5: cellar_label\(uuid\): column c\.town does not exist/,
    );
    expect(code).toBe(0);
  });

  test("applies an allowed breaking change that breaks no function", async () => {
    await own.logic("cellars", label.replace("c.place", "c.city"));
    await own.migration("rename", rename);
    const { code, output } = await migrate("--allow-breaking");
    expect(output).toContain("  - Cellar.place was removed.\n");
    expect(output).toContain("applying 0002_rename");
    expect(code).toBe(0);
    expect(await columns()).toContain("city");
  });
});

test("checks a new database with the deployment's own functions before the commit", async () => {
  await own.logic("cellars", label.replace("c.place", "c.town"));
  const url = new URL(database.url);
  const name = `${url.pathname.slice(1)}_new`;
  await database.pool.query(`create database ${name}`);
  try {
    url.pathname = `/${name}`;
    const { code, output } = await runMigrate(url.href, own.path);
    expect(output).toMatch(/cellars\.sql:5: cellar_label\(uuid\): column c\.town does not exist/);
    expect(code).toBe(1);
  } finally {
    await database.pool.query(`drop database ${name} with (force)`);
  }
});
