import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from "@jest/globals";
import { checkApi } from "../../src/migration/checkApi.ts";
import { migrateTenant } from "../../src/migration/migrateTenant.ts";
import { Refusal } from "../../src/migration/refusals.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import {
  createExtraSqlDir,
  runMigrate,
  runMigrateProcess,
} from "../helpers/migration/extraSqlDir.ts";

let database: TestDatabase;
let own: ExtraSqlDir;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  own = await createExtraSqlDir();
});
afterEach(() => own.remove());

const table = `create table cellars (id uuid primary key default uuidv7(), name text not null);`;
const describedColumn = `comment on column cellars.name is 'What it is called.';`;
const sound = `${table} comment on table cellars is '@read products.read\n@audit Cellar\nWhere wine lies.'; ${describedColumn}`;
const view = `create view cellar_names with (security_invoker = true) as select name from cellars;
  comment on view cellar_names is '@read products.read\n@audit off because cellars tell nothing\n@primaryKey name\nNames.';
  comment on column cellar_names.name is 'A name.';`;

const action = (parameters: string, returned: string, tag: string) =>
  `create or replace function close_cellar(${parameters}) returns ${returned} as $$ select null::${returned} $$ language sql volatile;
   comment on function close_cellar is '@guard products.update\n${tag}\nCloses it.';
   grant execute on function close_cellar to office_api;`;

const report = (returned: string, kind: string, tags: string) =>
  `create or replace function open_cellars(since date) returns ${returned} as $$ select null::cellars where false $$ language sql ${kind};
   comment on function open_cellars is '${tags}\n@report Catalogue\nOpen cellars.';
   grant execute on function open_cellars to office_api;`;

interface Refused {
  what: string;
  sql: string;
  logic?: string;
  says: string[];
  /** The step of the migrate command that finds the mistake, with all others of its kind. */
  step?: "rules" | "views" | "tables" | "reports";
  /** Whether only the rehearsal in an empty schema finds it. */
  isInCopy?: boolean;
}

const refusals: Refused[] = [
  {
    what: "forgets the permission to read",
    step: "rules",
    sql: sound.replace("@read products.read\n", ""),
    says: [
      "table cellars: declares no permission to read it; add the tag `@read <permission>` (or `@internal` with no grants)",
    ],
  },
  {
    what: "names an unknown permission",
    step: "rules",
    sql: sound.replace("products.read", "cellars.read"),
    says: ["table cellars: the tag @read names the unknown permission cellars.read"],
  },
  {
    what: "forgets to decide about the audit log",
    step: "rules",
    sql: sound.replace("@audit Cellar\n", ""),
    says: [
      "table cellars: does not declare auditing; add the tag `@audit <EntityType>` or `@audit off because <reason>`",
    ],
  },
  {
    what: "forgets its comments",
    step: "rules",
    sql: sound.replace("\nWhere wine lies.", "").replace(describedColumn, ""),
    says: [
      "table cellars: has no description; add `comment on table cellars is '...'`",
      "column cellars.name: has no description; add `comment on column`",
    ],
  },
  {
    what: "lets a view pass row-level security by",
    step: "rules",
    sql: `${sound} create view cellar_names as select name from cellars;
      comment on view cellar_names is 'Names.'; comment on column cellar_names.name is 'A name.';`,
    says: [
      "view cellar_names: reads with the privileges of its owner and bypasses row-level security; write `create view cellar_names with (security_invoker = true) as ...`",
    ],
  },
  {
    what: "reads the rows of a table in a policy of the same table",
    step: "views",
    sql: sound,
    logic: `select ensure_policy('cellars', 'cellars_deep', 'select', 'office_api', 'exists (select from cellars c where c.name = ''deep'')');`,
    says: [
      'table cellars: nobody could read it, because a policy fails (infinite recursion detected in policy for relation "cellars"); read the rows of the table itself in a function with `security definer`',
    ],
  },
  {
    what: "promises a key that several rows of a view have",
    step: "views",
    sql: `${sound} insert into cellars (name) values ('deep'), ('deep'); ${view}`,
    says: ['view cellar_names: the tag @primaryKey is "name", and several rows have the same'],
  },
  {
    what: "promises a value that a row of a view lacks",
    step: "views",
    sql: `${sound} insert into cellars (name) values ('deep'); ${view.replace("select name", "select nullif(name, 'deep') as name")}`,
    says: ['view cellar_names: the tag @primaryKey is "name", and name is null in a row'],
  },
  {
    what: "divides by zero in a view",
    step: "views",
    sql: `${sound} insert into cellars (name) values (''); ${view.replace("select name", "select name, 1 / length(name) as share")}
      comment on column cellar_names.share is '@notNull\nA share.';`,
    says: ["column cellar_names.share: cannot be read: division by zero"],
  },
  {
    what: "calls a function of logic in a view",
    // The live schema has the function.
    isInCopy: true,
    sql: `${sound} ${view.replace("select name", "select as_list(null), name")}`,
    says: [
      "function as_list(unknown) does not exist; nothing was changed",
      "db/logic/06_checks.sql makes it, after all migrations: move this statement to `logic`",
    ],
  },
  {
    what: "misspells tags",
    step: "rules",
    sql: sound
      .replace("@audit", "@conection\n@audit")
      .replace("'What it is called.'", "'@serch word\nWhat it is called.'"),
    says: [
      "comment of table cellars: unknown tag @conection; did you mean @connection?",
      "comment of column cellars.name: unknown tag @serch; did you mean @search?",
    ],
  },
  {
    what: "orders by an unknown column",
    sql: sound.replace("@audit", "@defaultOrder nmae\n@audit"),
    says: [
      "No API can be built from this schema",
      "names the column nmae, which the table does not have (did you mean `name`?)",
    ],
  },
  {
    what: "opens its list with a query for an unknown field",
    step: "tables",
    sql: sound.replace("@audit", "@defaultQuery nme:deep\n@audit"),
    says: [
      "The tag @defaultQuery of the table cellars: query: `nme` is not a field that can be searched (did you mean `name`?) at position 1",
    ],
  },
  {
    what: "opens its list with a query for a value of another type",
    step: "tables",
    sql: `${sound.replace("name text not null", "name text not null, opened_on date").replace("@audit", "@defaultQuery openedOn:>=tody\n@audit")}
      comment on column cellars.opened_on is 'When it was opened.';`,
    says: ["The tag @defaultQuery of the table cellars: query: `tody` is not a date"],
  },
  {
    what: "opens the list of a table without one with a query",
    step: "tables",
    sql: sound.replace("@audit", "@root off\n@defaultQuery name:deep\n@audit"),
    says: ["The tag @defaultQuery of the table cellars: the console has no list of its rows"],
  },
  {
    what: "opens the list of a view with a query without a value",
    step: "tables",
    sql: `${sound} ${view.replace("@primaryKey", "@defaultQuery name:\n@primaryKey")}`,
    says: [
      "The tag @defaultQuery of the table cellar_names: query: `name:` has no value directly after it at position 1",
    ],
  },
  {
    what: "names an argument of an action as the version",
    sql: sound.replace("@audit", "@update products.update\n@mutations update\n@audit"),
    logic: action("id uuid, if_version text", "cellars", "@action"),
    says: [
      "The API has `ifVersion` twice in one place: as the argument that the service adds to `closeCellar`, and as",
    ],
  },
  {
    what: "names a computed field as a column",
    sql: sound,
    logic: `create or replace function cellars_name(cellar cellars) returns text as $$ select 'x'::text $$ language sql stable;
      comment on function cellars_name is '@computed\nA field.'; grant execute on function cellars_name to office_api;`,
    says: [
      "The API has `name` twice in one place: as a column of cellars, and as a computed field, a relation or another column. Give one of them another name.",
    ],
  },
  {
    what: "names a query as the one of a table",
    sql: sound,
    logic: `create or replace function cellar(id uuid) returns cellars as $$ select c from cellars c where c.id = cellar.id $$ language sql stable;
      comment on function cellar is '@guard products.read\nA cellar.'; grant execute on function cellar to office_api;`,
    says: [
      "The API has `cellar` twice in one place: as a function with the tag `@guard`, and as the query of one row of cellars. Give one of them another name.",
    ],
  },
  {
    what: "makes a permission whose key has another form",
    sql: `insert into permissions (key, description) values ('Cellars Read', 'See cellars');`,
    says: [
      '0001_cellars.sql:1: new row for relation "permissions" violates check constraint "permissions_key_check"',
      "The rule permissions_key_check: must be two words of small letters with a point between, such as products.read",
    ],
  },
  {
    what: "offers choices by a field that the other table does not have",
    step: "tables",
    sql: sound
      .replace("name text not null", "name text not null, wine_type_id uuid references wine_types")
      .concat(
        " create index cellars_wine_type_id_idx on cellars (wine_type_id);",
        " comment on column cellars.wine_type_id is '@choices colr:red';",
      ),
    says: [
      "The tag @choices of cellars.wine_type_id: query: `colr` is not a field that can be searched (did you mean `color`?) at position 1",
    ],
  },
  {
    what: "offers choices for a column without a reference",
    step: "tables",
    sql: sound.replace("'What it is", "'@choices name:deep\nWhat it is"),
    says: [
      "The tag @choices of cellars.name: the column refers to no table with a list in the console",
    ],
  },
  {
    what: "offers names of a table that the console does not list",
    step: "tables",
    sql: sound
      .replace("name text not null", "name text not null, wines text[] not null default '{}'")
      .concat(" comment on column cellars.wines is E'@namesOf wine_tpes\\nThe wines.';"),
    says: [
      "The tag @namesOf of cellars.wines: there is no table `wine_tpes` with a list in the console (did you mean `wine_types`?)",
    ],
  },
  {
    what: "offers several names for a column with one",
    step: "tables",
    sql: sound.replace("'What it is", "'@namesOf wine_types\nWhat it is"),
    says: ["The tag @namesOf of cellars.name: the column is no array; declare a foreign key"],
  },
  {
    what: "offers mutations of a table without an id",
    sql: sound
      .replace("id uuid primary key default uuidv7(), name text not null", "name text primary key")
      .replace("@audit Cellar", "@create products.create\n@mutations create\n@audit Cellar name"),
    says: ["The tag @mutations of the table cellars needs the primary key `id uuid`"],
  },
  {
    what: "offers mutations of a column that no input can have",
    sql: `create type size as (width integer, depth integer);
      ${sound.replace("name text not null", "name text not null, size size").replace("@audit Cellar", "@create products.create\n@mutations create\n@audit Cellar")}
      comment on column cellars.size is 'How large it is.';`,
    says: [
      "No API can be built from this schema",
      "The column cellars.size has the type size, which no mutation can take. Give the column the tag `@mutations off`",
    ],
  },
  {
    what: "has a function whose input has a column that no input can have",
    sql: `create type size as (width integer, depth integer);
      ${sound.replace("name text not null", "name text not null, size size")}
      comment on column cellars.size is 'How large it is.';
      create function add_cellar(input cellars) returns cellars language sql volatile as 'select null::cellars';
      comment on function add_cellar is '@guard products.create\nAdds a cellar.';
      grant execute on function add_cellar to office_api;`,
    says: ["The column cellars.size has the type size, which no mutation can take."],
  },
  {
    what: "has values of an enumeration that the API cannot spell",
    sql: `create type cellar_kind as enum ('free range', 'free-range', 'OPEN', 'BRØD & ØL', '10 %', 'true', '…');
      comment on type cellar_kind is 'The kind of a cellar.';
      ${sound.replace("name text not null", "name text not null, kind cellar_kind")}
      comment on column cellars.kind is 'Its kind.';`,
    says: [
      "No API can be built from this schema",
      'The enumeration cellar_kind has values that the API cannot spell: `free range` (write `FREE_RANGE`, which the console shows as "Free range"), ' +
        '`free-range` (write `FREE_RANGE_2`, which the console shows as "Free range 2"), ' +
        '`BRØD & ØL` (write `BROD_OL`, which the console shows as "Brod ol"), ' +
        '`10 %` (write `VALUE_10`, which the console shows as "Value 10"), ' +
        '`true` (write `TRUE`, which the console shows as "True"), `…` (write `VALUE`, which the console shows as "Value"). ' +
        "A value has A-Z, 0-9 and underscores, a letter first.",
    ],
  },
  {
    what: "offers an action without arguments",
    step: "tables",
    sql: sound,
    logic: action("", "cellars", "@action"),
    says: [
      "The tag @action of the function close_cellar: an action takes the id of the row, a uuid, or arguments of its own",
    ],
  },
  {
    what: "offers an action that returns no row",
    step: "tables",
    sql: sound,
    logic: action("id uuid", "boolean", "@action bad"),
    says: ["The tag @action of the function close_cellar: an action returns rows of a list"],
  },
  {
    what: "offers an action in a list that does not exist",
    step: "tables",
    sql: sound,
    logic: action("id uuid", "boolean", "@action of cellarRows"),
    says: [
      "The tag @action of the function close_cellar: an action returns rows of a list, such as `returns suppliers`, or names the list or the report, such as `@action of suppliers`",
    ],
  },
  {
    what: "offers an action with a form at the rows of a report",
    step: "tables",
    sql: sound,
    logic: action("id uuid, days integer", "boolean", "@action of mySessions"),
    says: [
      "The tag @action of the function close_cellar: an action of a report takes the id of a row only",
    ],
  },
  {
    what: "passes a flag that no Boolean argument is",
    step: "tables",
    sql: sound,
    logic: action("id uuid, days integer default 1", "cellars", "@action with days"),
    says: ["The tag @action of the function close_cellar: days is no Boolean argument"],
  },
  {
    what: "misspells the flag of an action",
    step: "tables",
    sql: sound,
    logic: action("id uuid, notify_all boolean default false", "cellars", "@action with notify_al"),
    says: [
      "The tag @action of the function close_cellar: notify_al is no Boolean argument (did you mean `notify_all`?)",
    ],
  },
  {
    what: "misspells the condition of an action",
    step: "tables",
    sql: `${sound.replace("name text not null", "name text not null, is_public boolean not null default false")}
      comment on column cellars.is_public is 'Whether guests may enter.';`,
    logic: action("id uuid", "cellars", "@action if is_publik"),
    says: [
      "The tag @action of the function close_cellar: is_publik is no field of the row that is true or false, or that may be empty (did you mean `is_public`?)",
    ],
  },
  {
    what: "misspells the list of an action",
    sql: sound,
    logic: action("id uuid", "boolean", "@action of celars"),
    says: ["`@action of suppliers` (did you mean `cellars`?)"],
  },
  {
    what: "misspells the column of an order",
    sql: sound.replace("@audit", "@defaultOrder nmae\n@audit"),
    says: ["names the column nmae, which the table does not have (did you mean `name`?)"],
  },
  {
    what: "offers a mutation as a report",
    step: "reports",
    sql: sound,
    logic: report("setof cellars", "volatile", "@guard products.read"),
    says: [
      "The tag @report of the function open_cellars: it is not a query; a report is `stable` and has a `@guard`",
    ],
  },
  {
    what: "offers a report of one row",
    step: "reports",
    sql: sound,
    logic: report("cellars", "stable", "@guard products.read"),
    says: [
      "The tag @report of the function open_cellars: a report returns rows of a list, such as `returns setof suppliers`",
    ],
  },
  {
    what: "offers an action under a condition that no column is",
    step: "tables",
    sql: sound,
    logic: action("id uuid", "cellars", "@action unless is_closed"),
    says: [
      "The tag @action of the function close_cellar: is_closed is no field of the row that is true or false, or that may be empty",
    ],
  },
  {
    what: "writes the condition of an action in another way",
    step: "rules",
    sql: sound,
    logic: action("id uuid", "cellars", "@action when is_open"),
    says: ["comment of function close_cellar"],
  },
  {
    what: "computes a field from rows with a secret",
    step: "rules",
    sql: `${sound} comment on column cellars.name is '@secret\nA name.';`,
    logic: `create or replace function cellars_size(cellar cellars) returns integer as $$ select 1 $$ language sql stable;
      comment on function cellars_size is '@computed\nHow large it is.'; grant execute on function cellars_size to office_api;`,
    says: ["takes whole rows of cellars, and no caller may read their column name (@secret)"],
  },
  {
    what: "has one name for a list and a row",
    sql: sound.replaceAll("cellars", "staff"),
    says: [
      "The table staff would have the same name for its list and for a row, `staff`. Name it in the API by a tag with a plural, such as `@name staff_entries`.",
    ],
  },
  {
    what: "offers mutations of a table whose id is a number",
    sql: sound
      .replace(
        "uuid primary key default uuidv7()",
        "bigint generated always as identity primary key",
      )
      .replace("@audit", "@create products.update\n@mutations create\n@audit"),
    says: [
      "The tag @mutations of the table cellars needs the primary key `id uuid`. Write a unique constraint for what identifies a row beside it.",
    ],
  },
  {
    what: "refers to a table that does not exist",
    sql: `create table cellars (\n  id uuid primary key,\n  supplier_id uuid references supliers on delete cascade\n);`,
    says: [
      '0001_cellars.sql:3: relation "supliers" does not exist; nothing was changed',
      "supplier_id uuid references supliers",
    ],
  },
  {
    what: "fails",
    sql: `${sound}\nselect 1;\ninsert into cellars (nme) values ('x');`,
    says: [
      '0001_cellars.sql:5: column "nme" of relation "cellars" does not exist; nothing was changed',
    ],
  },
];

/** Everything that the migrate command could have changed. */
async function state() {
  const { rows } = await database.pool.query(
    `select obj_description('backoffice'::regnamespace, 'pg_namespace') as stamp, to_regclass('cellars') as cellars,
       to_regclass('own_schema_migrations') as own, to_regnamespace('backoffice_rehearsal') as rehearsal`,
  );
  return rows[0] as Record<string, string | null>;
}

/** The error of a migration and of the check of its API, without the rehearsal of the migrate command, which takes seconds. */
async function refusalOf(): Promise<string> {
  const client = await database.pool.connect();
  try {
    const error: unknown = await migrateTenant(client, "backoffice", {
      extraSqlDir: own.path,
      check: async (within, tenant) => {
        await checkApi(within, tenant);
      },
    }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Refusal);
    return (error as Refusal).message;
  } finally {
    client.release(true);
  }
}

/** The case with other names, so that several fit into one migration. */
function renamed({ what, sql, logic = "", says }: Refused, place: number) {
  const letters = `${"abcdefghijklmnopqrstuvwxyz".charAt(place)}q`;
  const rename = (text: string) =>
    text
      .replaceAll("cellar", `${letters}cellar`)
      .replaceAll("Cellar", `${letters.charAt(0).toUpperCase()}qcellar`);
  return { what, sql: rename(sql), logic: rename(logic), says: says.map(rename) };
}

describe("a migration", () => {
  test.each(refusals.filter(({ isInCopy, step }) => isInCopy !== true && step === undefined))(
    "that $what is rejected, and changes nothing",
    async ({ sql, logic, says }) => {
      const before = await state();
      if (logic !== undefined) await own.logic("cellars", logic);
      await own.migration("cellars", sql);
      const message = await refusalOf();
      for (const text of says) expect(message).toContain(text);
      expect(await state()).toEqual(before);
      expect(before).toMatchObject({ cellars: null, own: null, rehearsal: null });
    },
  );

  test.each(["rules", "views", "tables", "reports"] as const)(
    "whose %s have several mistakes is rejected with all of them, and changes nothing",
    async (step) => {
      const before = await state();
      const cases = refusals.filter((one) => one.step === step).map(renamed);
      expect(cases.length).toBeGreaterThan(1);
      await own.logic("cellars", cases.map(({ logic }) => logic).join("\n"));
      await own.migration("cellars", cases.map(({ sql }) => sql).join("\n"));
      const message = await refusalOf();
      const untold = cases.filter(({ says }) => !says.every((text) => message.includes(text)));
      expect({ message, untold }).toEqual({ message, untold: [] });
      expect(message.split("\n  - ").length).toBeGreaterThan(cases.length);
      expect(await state()).toEqual(before);
    },
  );
});

describe("the migrate command", () => {
  const named = (name: string) => refusals.filter(({ what }) => what === name);

  test.each([
    ...named("forgets the permission to read"),
    ...named("orders by an unknown column"),
    ...named("fails"),
    ...refusals.filter(({ isInCopy }) => isInCopy),
  ])("rejects a migration that $what, and changes nothing", async ({ sql, says }) => {
    const before = await state();
    await own.migration("cellars", sql);
    const { code, output } = await runMigrate(database.url, own.path);
    for (const text of says) expect(output).toContain(text);
    // A message for the author of the migration, without a stack trace.
    expect(output).not.toMatch(/\n {4}at /);
    expect(code).toBe(1);
    expect(await state()).toEqual(before);
  });

  test("names the logic file and line that fails", async () => {
    await own.logic("cellars", "select 1;\n\nselect cellar_names();\n");
    const { code, output } = await runMigrateProcess(database.url, own.path);
    expect(output).toContain(
      "cellars.sql:3: function cellar_names() does not exist; nothing was changed",
    );
    expect(code).toBe(1);
  });

  test.each([
    ["create table", "create table if not exists cellars (id uuid primary key)"],
    ["alter table", "alter table wine_types add column if not exists taste text"],
    ["create type", "create type taste as enum ('DRY')"],
    ["drop table", "drop table wine_types"],
  ])("refuses %s in logic", async (command, statement) => {
    const one = "create or replace function one() returns int language sql return 1;";
    await own.logic("cellars", `${one}\n\n${statement};`);
    const { code, output } = await runMigrate(database.url, own.path);
    expect(output).toContain(
      `cellars.sql:3: \`${command}\` belongs in a file of \`migrations\`, which runs once.`,
    );
    expect(output.match(/^ {2}- /gm)).toHaveLength(1);
    expect(code).toBe(1);
  });

  test("applies files with the line ends of Windows", async () => {
    await own.migration("cellars", sound.replaceAll("\n", "\r\n"));
    await own.logic(
      "cellars",
      "create or replace function one() returns int\r\nlanguage sql\r\nreturn 1;\r\n",
    );
    const { code, output } = await runMigrate(database.url, own.path, ["--check"]);
    expect(output).toContain("The files can be applied");
    expect(code).toBe(0);
  });

  test("refuses transaction commands, comments of tables and functions of the product in logic", async () => {
    await own.migration("cellars", sound);
    await own.logic(
      "own",
      `grant select on products to office_api; commit; set role office_api; set search_path = public;
comment on table absences is '@read login\nAbsences.';
comment on column cellars.name is '@internal\nThe name.';
create or replace function has_permission(key text) returns boolean as $$ select true $$ language sql stable;
create or replace view cellar_list with (security_invoker = true) as select id from cellars;
comment on view cellar_list is '@internal\n@audit off because it has no rows of its own\nCellars.';
comment on column cellar_list.id is 'The cellar.';`,
    );
    const { code, output } = await runMigrate(database.url, own.path, ["--check"]);
    expect(code).toBe(1);
    expect(output.match(/logic\/own\.sql:\d+: .*/g)).toEqual([
      "logic/own.sql:1: The migrator begins and commits. Leave transaction commands out.",
      "logic/own.sql:1: The migrator acts as office_owner, and the files after this one would run as another role. Leave this out.",
      "logic/own.sql:1: This setting also holds for the files that run after this one. Leave it out; a function has its own by `create function … set name = value`.",
      "logic/own.sql:2: The comment of a table has its tags, which are applied before this file runs. Write it in a migration.",
      "logic/own.sql:4: The comment of a column of a table has its tags, which are applied before this file runs. Write it in a migration.",
      "logic/own.sql:6: has_permission is a function of the product, which relies on it. Give yours another name.",
    ]);
  });

  test("reports what the linter finds in migrations and in logic together", async () => {
    await own.logic("cellars", "create table cellars (id uuid primary key);");
    await own.migration("cellars", "alter table wine_types alter column name set not null;");
    const { code, output } = await runMigrate(database.url, own.path);
    expect(output).toContain("The new migrations break 1 rule");
    expect(output).toContain("cellars.sql:1: `create table` belongs in a file of `migrations`");
    expect(code).toBe(1);
  });

  test.each([
    ["policy", "create policy wide on wine_types for select to office_api using (name = 'x')"],
    ["policy", "alter policy wine_types_read on wine_types using (name = 'x')"],
    [
      "trigger",
      "create or replace trigger again before update on wine_types for each row execute function tg__timestamps()",
    ],
  ])("refuses a %s in logic that would lock its table at each migration", async (kind, sql) => {
    await own.logic("cellars", `${sql};`);
    const { code, output } = await runMigrate(database.url, own.path);
    expect(output).toContain(
      `cellars.sql:1: A ${kind} is made by \`select ensure_${kind}(...)\`, which locks the table only when the ${kind} differs`,
    );
    expect(code).toBe(1);
  });

  test("names a function that is left from before its parameters changed", async () => {
    await database.pool.query(
      "create function cellar_note(note text) returns text language sql as 'select note'",
    );
    try {
      await own.logic(
        "cellars",
        `create or replace function cellar_note(note text, times integer default 1) returns text as $$ select note $$ language sql;
         select cellar_note('deep');`,
      );
      const { code, output } = await runMigrate(database.url, own.path);
      expect(output).toContain("cellars.sql:2: function cellar_note(unknown) is not unique");
      expect(output).toContain(
        "The schema has cellar_note(text) from before. If its parameters changed, drop it in a migration: `drop function if exists cellar_note(text)`",
      );
      expect(output).not.toContain("cellar_note(text,integer) from before");
      expect(code).toBe(1);
    } finally {
      await database.pool.query("drop function cellar_note(text)");
    }
  });

  test("rejects a missing folder of own SQL", async () => {
    const { code, output } = await runMigrateProcess(database.url, `${own.path}/elsewhere`);
    expect(output).toContain('has no folder "migrations" or "logic" and no file "prepare.sql"');
    expect(code).toBe(1);
  });

  test("waits briefly for a table in use, so that requests are not blocked, and retries", async () => {
    await own.migration(
      "wine_types",
      "alter table wine_types add column cellars integer; comment on column wine_types.cellars is 'How many.';",
    );
    const before = await state();
    const [user, owner] = await Promise.all([database.pool.connect(), database.pool.connect()]);
    try {
      await user.query("begin; select from wine_types");
      await expect(
        migrateTenant(owner, "backoffice", { extraSqlDir: own.path, attempts: 1 }),
      ).rejects.toThrow(
        /were in use at each of 1 attempts, nothing was changed; the last one waited in \S+_wine_types\.sql\. Try again/,
      );
      expect(await state()).toEqual(before);
      const lines: string[] = [];
      await migrateTenant(owner, "backoffice", {
        extraSqlDir: own.path,
        log: (line) => {
          lines.push(line);
          if (line.includes("trying again")) void user.query("rollback");
        },
      });
      expect(lines).toContainEqual(
        expect.stringMatching(/^Tables in use, waited for in \S+_wine_types\.sql: trying again$/),
      );
    } finally {
      user.release();
      owner.release(true);
    }
  });
});

test("leaves out the advice to restart for callers that restart servers themselves", async () => {
  const database = await createDatabase();
  try {
    await own.migration(
      "more",
      "-- lint: allow product-table because the words stay\ncomment on column wine_types.name is 'The name of the type.';",
    );
    const { code, output } = await runMigrate(database.url, own.path, ["--caller-restarts"]);
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining("applying 0001_more"),
    });
    expect(output).not.toContain("restart them");
  } finally {
    await database.drop();
  }
});

test("restores row-level security that a migration disables, and says so and that servers must restart", async () => {
  const database = await createDatabase();
  try {
    await own.migration(
      "off",
      "-- lint: allow row-level-security because this shows that it is put back\nalter table products disable row level security;",
    );
    const { code, output } = await runMigrate(database.url, own.path);
    expect(code).toBe(0);
    expect(output).toContain("applying 0001_off");
    const restart =
      "Running servers and workers read the schema only at their start: restart them one after the other";
    expect(output).toContain(restart);
    expect((await runMigrate(database.url, own.path)).output).not.toContain(restart);
    // One warning: other tables kept row-level security, and new tables never had it.
    expect(output.match(/WARNING: .*/g)).toEqual([
      "WARNING: table products: row-level security was off and is enabled again; use `ensure_policy` to show more rows",
    ]);
    const { rows } = await database.pool.query(
      "select relrowsecurity, relforcerowsecurity from pg_class where oid = 'products'::regclass",
    );
    expect(rows).toEqual([{ relrowsecurity: true, relforcerowsecurity: true }]);
  } finally {
    await database.drop();
  }
});
