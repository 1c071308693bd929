import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { schemaAfter, lintFolder, lintMigration } from "../../src/migration/lint/lint.ts";
import { lintNames } from "../../src/migration/lint/names.ts";
import { tablesOf } from "../../src/migration/lint/productTables.ts";
import { rules } from "../../src/migration/lint/rules.ts";
import { bad, good } from "../helpers/db/lintCases.ts";

const lint = (sql: string, earlier: string[] = []) =>
  lintMigration(
    "0009_case.sql",
    sql,
    earlier.reduce((known, before) => schemaAfter(before, known), schemaAfter("")),
  );
const brief = (sql: string, earlier?: string[]) =>
  lint(sql, earlier).map(({ rule, line }) => `${rule}:${line}`);

describe("the migration linter", () => {
  it.each(bad)("finds $rule in: $sql", ({ rule, sql, line = 1, earlier }) => {
    expect(brief(sql, earlier)).toEqual([`${rule}:${line}`]);
  });

  it.each(good)("accepts: $sql", ({ sql, earlier }) => {
    expect(lint(sql, earlier)).toEqual([]);
  });

  it("has a planted violation for every rule", () => {
    const elsewhere = ["file-name", "syntax", "allow", "product-table"];
    const planted = new Set([...elsewhere, ...bad.map(({ rule }) => rule)]);
    expect(Object.keys(rules).filter((rule) => !planted.has(rule))).toEqual([]);
  });

  it("names the problem and its fix", () => {
    expect(lint("alter table wines alter column price set not null;")).toEqual([
      {
        file: "0009_case.sql",
        line: 1,
        rule: "set-not-null",
        severity: "error",
        message:
          "This reads all of wines under a full lock. Write `alter table wines add constraint wines_price_not_null not null price not valid`, and `validate constraint` in the next migration.",
      },
    ]);
  });

  it("warns about validating in the transaction that adds the constraint", () => {
    const sql =
      "alter table wines add constraint c check (price > 0) not valid;\nalter table wines validate constraint c;";
    expect(lint(sql)).toMatchObject([{ rule: "validate-later", severity: "warning", line: 2 }]);
  });

  it("reports the line of a syntax error, also after multi-byte letters", () => {
    expect(brief("-- rødvin æøå\nselect 1;\nselect from where;\n")).toEqual(["syntax:3"]);
  });

  it("reports the line of a column, counted in bytes", () => {
    const sql =
      "-- rødvin æøåæøåæøåæøåæøå\ncreate table t (\n  id uuid primary key,\n  name varchar(9)\n);\ncomment on table t is 'x';";
    expect(brief(sql)).toEqual(["type:4"]);
  });
});

describe("an allow comment", () => {
  const allow = "-- lint: allow create-index because the table has forty rows";
  const index = "create index wines_name_idx on wines (name);";

  it("allows its rule in the statement below it", () => {
    expect(lint(`${allow}\n${index}`)).toEqual([]);
  });

  it("applies above the offending line inside a statement", () => {
    const column = (type: string) => `create table t (id uuid primary key,\n${type});`;
    const comment = "\ncomment on table t is 'x';";
    expect(brief(column("a varchar(3)") + comment)).toEqual(["type:2"]);
    expect(
      lint(column("-- lint: allow type because the ERP sends it so\na varchar(3)") + comment),
    ).toEqual([]);
  });

  it.each([
    ["money", "numeric(12, 2)"],
    ["timetz", "`time`"],
    ["timestamp", "timestamptz"],
    ["bigserial", "uuid"],
  ])("refuses a column of the type %s, and names another", (type, instead) => {
    const messages = lint(
      `create table t (id uuid primary key,\na ${type});\ncomment on table t is 'x';`,
    );
    expect(messages).toHaveLength(1);
    expect(messages[0]!.message).toContain(instead);
  });

  it("can share the lines above a statement with other comments", () => {
    expect(lint(`${allow}\n-- Staff look wines up by name.\n${index}`)).toEqual([]);
  });

  it("does not apply across an empty line", () => {
    expect(brief(`${allow}\n\n${index}`)).toEqual(["allow:1", "create-index:3"]);
  });

  it("allows no other rule", () => {
    expect(brief(`${allow}\nlock table wines;`)).toEqual(["allow:1", "lock-table:2"]);
  });

  it.each([
    ["without a reason", "-- lint: allow create-index"],
    ["with a reason that says nothing", "-- lint: allow create-index because ok"],
    ["of an unknown rule", "-- lint: allow indexes because the table has forty rows"],
    ["that is misspelt", "-- lint allow create-index because the table has forty rows"],
  ])("%s is rejected", (_name, comment) => {
    expect(brief(`${comment}\n${index}`)).toEqual(["allow:1", "create-index:2"]);
  });

  it("is ignored inside a string", () => {
    expect(brief(`select '\n${allow}\n';${index}`)).toEqual(["create-index:3"]);
  });
});

describe("names of migrations", () => {
  it("count up in snake_case, with gaps", () => {
    expect(lintNames(["0002_wine_types.sql", "0001_users.sql", "0009_cellars.sql"])).toEqual([]);
  });

  it.each([
    ["a repeated number", ["0001_a.sql", "0001_b.sql"], "0001_b.sql"],
    ["three digits", ["001_a.sql"], "001_a.sql"],
    ["capital letters", ["0001_Users.sql"], "0001_Users.sql"],
    ["a file that is no SQL", ["0001_a.sql", "notes.md"], "notes.md"],
  ])("may not have %s", (_name, names, file) => {
    expect(lintNames(names)).toMatchObject([{ file, rule: "file-name" }]);
  });
});

describe("a folder of migrations", () => {
  const folder = mkdtempSync(join(tmpdir(), "lint-"));
  const write = (name: string, sql: string) => writeFileSync(join(folder, name), sql);
  afterAll(() => rmSync(folder, { recursive: true }));

  it("is linted in order, each file with the facts of earlier ones", () => {
    write(
      "0001_wines.sql",
      "create table wines (id uuid primary key, price numeric);\ncomment on table wines is 'Wines.';",
    );
    write(
      "0002_check.sql",
      "alter table wines add constraint wines_price_set not null price not valid;",
    );
    write("0003_validate.sql", "alter table wines validate constraint wines_price_set;");
    write("0004_set.sql", "alter table wines alter column price set not null;");
    write("0005_drop.sql", "drop table wines;");
    expect(lintFolder(folder)).toMatchObject([{ file: "0005_drop.sql", rule: "drop-table" }]);
    expect(lintFolder(folder, ["0004_set.sql"])).toEqual([]);
  });
});

it("accepts every committed migration", () => {
  expect(lintFolder(join(import.meta.dirname, "../../db/migrations"))).toEqual([]);
});

describe("a migration of a deployment", () => {
  const product = tablesOf([
    `create table wines (id uuid primary key default uuidv7(), name text not null, type_id uuid references types,
       constraint wines_name_check check (is_label(name, 200)));`,
    "alter table wines add column vintage integer;",
  ]);
  const found = (sql: string) =>
    lintMigration("0001_own.sql", sql, schemaAfter(""), product)
      .filter(({ rule }) => rule === "product-table")
      .map(({ message }) => message);

  it.each([
    [
      "comment on table wines is '@read login';",
      "its comment says who may read and change its rows",
    ],
    [
      "comment on column wines.vintage is '@internal';",
      "the comment on its column vintage has the tags that the product relies on",
    ],
    ["alter table wines drop column name;", "this drops its column name"],
    ["alter table wines alter column vintage set default 2000;", "this changes its column vintage"],
    ["alter table wines alter column name type bigint;", "this changes its column name"],
    [
      "alter table wines drop constraint wines_name_check;",
      "it relies on the constraint wines_name_check",
    ],
    [
      "alter table wines drop constraint wines_type_id_fkey;",
      "it relies on the constraint wines_type_id_fkey",
    ],
    ["alter table wines rename to bottles;", "this renames it"],
    ["alter table wines rename column name to title;", "this renames its column name"],
    ["drop table wines;", "this drops it"],
  ])("leaves tables of the product as they are: %s", (sql, why) => {
    expect(found(sql)).toEqual([
      `wines belongs to the product, and ${why}. Add columns or a table of your own instead.`,
    ]);
  });

  it.each([
    "alter table wines add column own_rating integer; comment on column wines.own_rating is 'Ours.';",
    "alter table wines add constraint wines_own_rating_check check (own_rating < 6) not valid;",
    "alter table wines validate constraint wines_own_rating_check;",
    "alter table wines drop constraint wines_own_rating_check;",
    "alter table wines alter column own_rating set default 3;",
    "create table own (id uuid primary key, name text); alter table own drop column name;",
    "create index wines_own_rating_idx on wines (own_rating);",
    "comment on constraint wines_own_type_fkey on wines is '@fieldName own';",
  ])("adds to tables of the product: %s", (sql) => {
    expect(found(sql)).toEqual([]);
  });

  it("may change them with a reason", () => {
    const sql =
      "-- lint: allow product-table because wines are public here\ncomment on table wines is '@read login';";
    expect(found(sql)).toEqual([]);
  });
});
