import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { sql } from "postgraphile/pg-sql2";
import type { SearchTable } from "../../src/query/searchTable.ts";
import { compileQuery } from "../../src/query/compile.ts";
import { parseQuery } from "../../src/query/parse.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { actAs, createDatabase } from "../helpers/database.ts";
import { makeInProcess } from "../helpers/inProcess.ts";

const page = readFileSync(new URL("../../docs/query-language.md", import.meta.url), "utf8");
const [, section = ""] = /\n## Worked examples\n([^]*?)\n## /.exec(page) ?? [];
/** The cells of each table in the section, without the header row. */
const shown = section
  .split(/\n\n/)
  .filter((block) => block.startsWith("|"))
  .map((block) =>
    block
      .trim()
      .split("\n")
      .slice(2)
      .map((line) =>
        line
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
  );
const [wines = [], plain = [], anyHour = [], atNoon = []] = shown;
const day = "2026-02-03";
const hours = ["00:00:00.000", "00:00:00.001", "08:30:00.000", "12:00:00.000", "23:59:59.999"];

let database: TestDatabase;
let client: pg.PoolClient;
let products: SearchTable;

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query("update office_settings set time_zone = 'UTC'");
  client = await database.pool.connect();
  for (const [number, name, producer, vintage, country, alcohol, created, ratings = ""] of wines) {
    await client.query(
      `insert into products (erp_product_number, name, producer, vintage, country, alcohol_percent, created_at)
       values ($1, $2, nullif($3, ''), nullif($4, '')::integer, nullif($5, ''), nullif($6, '')::numeric, $7)`,
      [number, name, producer, vintage, country, alcohol, created],
    );
    for (const [, reviewer, year, points] of ratings.matchAll(/(\w+) (\d+) (\d+)/g))
      await client.query(
        `with r as (insert into reviewers (name) values ($2) on conflict (name_key(name)) do update set name = excluded.name returning id)
         insert into product_ratings (product_id, reviewer_id, year, points)
         select p.id, r.id, $3, $4 from products p, r where p.erp_product_number = $1`,
        [number, reviewer, year, points],
      );
  }
  const api = await makeInProcess(database);
  await api.stop();
  products = api.tables.get("products") as SearchTable;
  await client.query("begin");
  await actAs(client, { permissions: ["products.read", "reviewers.read"] });
});
afterAll(async () => {
  await client.query("rollback");
  client.release();
  await database.drop();
});

async function found(query: string, now: string): Promise<string> {
  const condition = compileQuery(parseQuery(query), products, () => new Date(now));
  const { text, values } = sql.compile(
    sql`select p.erp_product_number as number from products as p where ${condition(sql`p`)}`,
  );
  const { rows } = await client.query<{ number: string }>(text, values);
  const numbers = new Set(rows.map(({ number }) => number));
  // In the order of the page.
  const listed = wines.map(([number = ""]) => number).filter((number) => numbers.has(number));
  return listed.join(", ") || "nothing";
}

const query = (cell: string) => cell.replace(/^`|`$/g, "");

describe("the worked examples of docs/query-language.md", () => {
  test("are complete in this test", () => {
    expect(wines).toHaveLength(5);
    expect([plain.length > 35, anyHour.length > 8, atNoon.length > 5]).toEqual([true, true, true]);
    expect(shown).toHaveLength(4);
  });

  test.each([...plain, ...atNoon])("%s finds %s", async (cell, expected) => {
    expect(await found(query(cell), `${day}T12:00:00.000Z`)).toBe(expected);
  });

  test.each(anyHour)("%s finds %s at any hour of the day", async (cell, expected) => {
    for (const hour of hours) expect(await found(query(cell), `${day}T${hour}Z`)).toBe(expected);
  });
});
