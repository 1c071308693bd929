import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { migrateTenant } from "../../src/migration/migrateTenant.ts";
import { Refusal } from "../../src/migration/refusals.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { createExtraSqlDir, runMigrate } from "../helpers/migration/extraSqlDir.ts";

let database: TestDatabase;
let own: ExtraSqlDir;
let id: string;

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query(
    `insert into reviewers (name) select 'Reviewer ' || n from generate_series(1, 7) as n;
     insert into products (erp_product_number, name, vintage)
     select 'P' || n, 'Wine ' || n / 2, case when n > 2 then 2000 + n end from generate_series(1, 5) as n`,
  );
  const { rows } = await database.pool.query<{ id: string }>(
    "select id from products where vintage is null order by id limit 1",
  );
  id = rows[0]?.id ?? "";
});
afterAll(() => database.drop());
beforeEach(async () => {
  own = await createExtraSqlDir();
});
afterEach(() => own.remove());

async function expectUnchanged(): Promise<void> {
  const { rows } = await database.pool.query("select to_regclass('own_schema_migrations') as own");
  expect(rows).toEqual([{ own: null }]);
}

/**
 * The error for a migration that existing rows break, without the rehearsal of the migrate command, which takes seconds.
 * Checks that nothing changes.
 */
async function refusalOf(sql: string): Promise<string> {
  await own.migration("rule", sql);
  const client = await database.pool.connect();
  try {
    const error: unknown = await migrateTenant(client, "backoffice", {
      extraSqlDir: own.path,
    }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Refusal);
    expect((error as Refusal).message).toContain("nothing was changed");
    await expectUnchanged();
    return (error as Refusal).message;
  } finally {
    client.release(true);
  }
}
const allow = (rule: string) => `-- lint: allow ${rule} because the products of a test are few\n`;

describe("rejects a rule that existing rows break, with their number and a fix:", () => {
  test("a check", async () => {
    await own.migration(
      "rule",
      `select 1;\n\n${allow("constraint-not-valid")}alter table products add constraint products_vintage_new check (vintage > 2003), add column shop_note text;\ncomment on column products.shop_note is 'A note.';\ncomment on constraint products_vintage_new on products is 'must be newer';`,
    );
    const { code, output } = await runMigrate(database.url, own.path);
    expect(code).toBe(1);
    await expectUnchanged();
    expect(output).toMatch(
      /0001_rule\.sql:4: check constraint "products_vintage_new" of relation "products" is violated by some row; nothing was changed\n {2}> alter table products add/,
    );
    expect(output).toMatch(
      /\n {2}1 row of products breaks products_vintage_new, such as the one with id [0-9a-f-]{36}\.\n/,
    );
    expect(output).toContain(
      "Write `not valid` at the end of the constraint, which then holds for new rows only. Repair the old rows, as with `update products set … where not (vintage > 2003);`, and write `alter table products validate constraint products_vintage_new;` into a later migration.",
    );
  });

  test("a validated check", async () => {
    const output = await refusalOf(
      "alter table products add constraint products_vintage_new check (vintage > 2003) not valid;\ncomment on constraint products_vintage_new on products is 'must be newer';\nalter table products validate constraint products_vintage_new;",
    );
    expect(output).toContain("0001_rule.sql:3: check constraint");
    expect(output).toContain(
      "Repair these rows in a migration before this one, as with `update products set … where not (vintage > 2003);`.",
    );
  });

  test("not null", async () => {
    const output = await refusalOf(
      `${allow("set-not-null")}alter table products alter column vintage set not null;`,
    );
    expect(output).toContain(
      '0001_rule.sql:2: column "vintage" of relation "products" contains null values',
    );
    expect(output).toContain(
      `  2 rows of products would have no vintage, such as the one with id ${id}.`,
    );
    expect(output).toContain("`update products set vintage = … where vintage is null;`");
  });

  test("a required column without a default", async () => {
    const output = await refusalOf(
      `${allow("add-not-null-column")}alter table reviewers add column code text not null;\ncomment on column reviewers.code is 'A code.';`,
    );
    expect(output).toContain("7 rows of reviewers would have no code, such as the one with id");
    expect(output).toContain(
      "Give the new column a default: `add column code … not null default …`.",
    );
  });

  test("a unique index", async () => {
    const output = await refusalOf(
      `${allow("create-index")}create unique index products_name_new_key on products (upper(name)) where vintage is not null;`,
    );
    expect(output).toContain(
      "  2 rows of products share upper(name) with another row, such as those with id ",
    );
    expect(output).toContain(
      "`select upper(name), count(*) from products where (vintage IS NOT NULL) group by 1 having count(*) > 1;` lists them.",
    );
  });

  test("a unique constraint", async () => {
    const output = await refusalOf(
      `${allow("create-index")}alter table products add constraint products_name_new_key unique (name);\ncomment on constraint products_name_new_key on products is 'There is such a wine.';`,
    );
    expect(output).toContain('  4 rows of products share "name" with another row');
  });

  test("a foreign key", async () => {
    const output = await refusalOf(
      `alter table products add column twin_id uuid;
update products set twin_id = id where vintage is not null;
${allow("create-index")}create index products_twin_id_idx on products (twin_id);
${allow("constraint-not-valid")}alter table products add constraint products_twin_id_fkey foreign key (twin_id) references reviewers on delete restrict;`,
    );
    expect(output).toContain("0001_rule.sql:6: insert or update on table");
    expect(output).toContain(
      "  3 rows of products refer to rows that reviewers does not have, such as the one with id ",
    );
  });
});

test("rejects data that breaks an existing rule, with its line", async () => {
  const output = await refusalOf(
    "select 1;\ninsert into reviewers (name) values ('New');\ninsert into reviewers (name) values ('Reviewer 1');",
  );
  expect(output).toMatch(
    /0001_rule\.sql:3: duplicate key value violates unique constraint .*\n {2}> insert into reviewers/,
  );
});
