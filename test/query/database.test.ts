import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type pg from "pg";
import { sql } from "postgraphile/pg-sql2";
import { QuerySyntaxError } from "../../src/query/QuerySyntaxError.ts";
import type { SearchTable } from "../../src/query/searchTable.ts";
import { listFields } from "../../src/query/searchTable.ts";
import { compileQuery } from "../../src/query/compile.ts";
import { parseQuery } from "../../src/query/parse.ts";
import { printQuery } from "../helpers/query/print.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { actAs, createDatabase } from "../helpers/database.ts";
import { makeInProcess } from "../helpers/inProcess.ts";
import type { Kinds, Row, World } from "../helpers/query/reference.ts";
import { matches } from "../helpers/query/reference.ts";
import { queryTree } from "../helpers/query/trees.ts";
import { wineQuery, withFields } from "../helpers/query/wineTrees.ts";

const now = new Date("2026-02-03T12:00:00.000Z");
let database: TestDatabase;
let client: pg.PoolClient;
let tables: ReadonlyMap<string, SearchTable>;

const rows = `
  insert into wine_types (name) values ('Rød'), ('Hvid') on conflict do nothing;
  insert into reviewers (name) values ('Château Nord'), ('Bo');
  insert into users (email) values ('author@example.com');
  insert into products (erp_product_number, name, producer, vintage, alcohol_percent, is_active, wine_type_id, created_at)
  select 'w' || n, (array['Barolo', 'Château Nord', 'Nord-Barolo', 'Rød', 'Ébène'])[1 + n % 5],
    (array['Bo', null, 'Le Barolo du Nord'])[1 + n % 3], (array[2014, 2015, 2016, null])[1 + n % 4],
    (array[12, 12.5, 13.1, null, 0])[1 + n % 5], n % 2 = 0, (select id from wine_types where name = (array['Rød', 'Hvid', null])[1 + n % 3]),
    (array['2026-02-03T12:00:00Z', '2026-01-31T23:59:59.999Z', '2026-02-03T00:00:00Z', '2025-12-31Z', '2026-01-27T12:00:00Z'])[1 + n % 5]::timestamptz
  from generate_series(1, 40) n;
  insert into product_ratings (product_id, reviewer_id, year, points)
  select p.id, r.id, (array[2014, 2015, null])[1 + n % 3], (array[80, 80.5, 90, 100, 0])[1 + n % 5]
  from (select id, row_number() over (order by erp_product_number) n from products) p, reviewers r
  where (n + char_length(r.name)) % 3 > 0;
  insert into campaigns (product_id, title, price, author_user_id, medium, scheduled_at, status)
  select p.id, 'C', '1', u.id, 'EMAIL', now(), (array['DRAFT', 'SCHEDULED'])[1 + p.n % 2]::campaign_status
  from (select id, row_number() over (order by erp_product_number) n from products) p, users u where p.n % 3 = 0`;

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query(rows);
  // The plain evaluation takes days in UTC.
  await database.pool.query("update office_settings set time_zone = 'UTC'");
  const api = await makeInProcess(database);
  ({ tables } = api);
  await api.stop();
  client = await database.pool.connect();
  await client.query("begin");
  const permissions = [
    "products",
    "reviewers",
    "campaigns",
    "orders",
    "customers",
    "users",
    "audit",
  ];
  await actAs(client, { permissions: permissions.map((name) => `${name}.read`) });
});
afterAll(async () => {
  await client.query("rollback");
  client.release();
  await database.drop();
});

/** The rows that the database finds, as values of a column or placeholders; null when the query is rejected. */
async function found(connection: string, query: string, column?: string): Promise<string[] | null> {
  const table = tables.get(connection);
  if (!table) throw new Error(`there is no connection ${connection}`);
  const row = sql.identifier("r");
  try {
    const condition = compileQuery(parseQuery(query), table, () => now)(row);
    const shown = column === undefined ? sql`1` : sql`${row}.${sql.identifier(column)}`;
    const { text, values } = sql.compile(
      sql`select ${shown}::text as found from ${table.from} as ${row} where ${condition} order by 1`,
    );
    const result = await client.query<{ found: string }>(text, values);
    return result.rows.map((one) => one.found);
  } catch (error) {
    if (error instanceof QuerySyntaxError) return null;
    throw error;
  }
}

const kinds: Kinds = {
  erpProductNumber: "exact",
  vintage: "number",
  alcoholPercent: "number",
  points: "number",
  year: "number",
  isActive: "boolean",
  createdAt: "time",
  status: "enum",
};

/** All products in the form of the reference implementation. */
async function readWorld(): Promise<Row[]> {
  const { rows: read } = await client.query<{ row: Row }>(
    `select jsonb_build_object('values', jsonb_build_object('erpProductNumber', p.erp_product_number, 'name', p.name, 'producer', p.producer,
        'vintage', p.vintage, 'alcoholPercent', p.alcohol_percent, 'isActive', p.is_active, 'createdAt', p.created_at),
      'related', jsonb_build_object(
        'wineType', (select coalesce(jsonb_agg(jsonb_build_object('values', jsonb_build_object('name', t.name), 'related', '{}'::jsonb)), '[]')
          from wine_types t where t.id = p.wine_type_id),
        'campaigns', (select coalesce(jsonb_agg(jsonb_build_object('values', jsonb_build_object('status', c.status), 'related', '{}'::jsonb)), '[]')
          from campaigns c where c.product_id = p.id),
        'ratings', (select coalesce(jsonb_agg(jsonb_build_object('values', jsonb_build_object('points', r.points, 'year', r.year),
            'related', jsonb_build_object('reviewer', (select jsonb_agg(jsonb_build_object('values', jsonb_build_object('name', v.name), 'related', '{}'::jsonb))
              from reviewers v where v.id = r.reviewer_id)))), '[]')
          from product_ratings r where r.product_id = p.id))) as row
     from products p`,
  );
  return read.map(({ row }) => row);
}

describe("queries in the database", () => {
  test("find the same rows as a plain evaluation", async () => {
    const world: World = { kinds, words: ["name", "producer", "grapeVariety", "region"], now };
    const all = await readWorld();
    expect(all).toHaveLength(40);
    const answers = { none: 0, some: 0, all: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(wineQuery, async (tree) => {
        const query = printQuery(tree);
        const given = await found("products", query, "erp_product_number");
        if (given === null) {
          // Only reversed ranges and too deep or too long queries are rejected.
          answers.refused++;
          return;
        }
        const expected = all
          .filter((row) => matches(tree, row, world))
          .map((row) => String(row.values.erpProductNumber));
        expect({ query, found: given.toSorted() }).toEqual({ query, found: expected.toSorted() });
        answers[given.length === 0 ? "none" : given.length === 40 ? "all" : "some"]++;
      }),
      { numRuns: 600 },
    );
    expect(answers.some).toBeGreaterThan(150);
    expect(answers.refused).toBeLessThan(150);
  });

  test("never fail, for any field and operator", async () => {
    let ran = 0;
    for (const [connection, table] of tables) {
      const known = listFields(table).map(({ name }) => name);
      const relations = [...table.relations.keys()];
      await fc.assert(
        fc.asyncProperty(queryTree, async (tree) => {
          const query = printQuery(
            withFields(tree, known, relations.length > 0 ? relations : ["none"]),
          );
          if ((await found(connection, query)) !== null) ran++;
        }),
        { numRuns: 250 },
      );
    }
    expect(ran).toBeGreaterThan(100);
  });

  test("never fail on a valid value", async () => {
    const hostile = [
      "-2147483648",
      "9223372036854775807",
      "1e300",
      "-1e-300",
      ".5",
      "0001",
      "9999",
      "now+999999y",
      "today-999999M",
      "today-2025y",
      "tomorrow+7973y",
      "today+999999m",
      "\\",
      "%",
      "_",
      "'",
      "\u0301",
      "💥",
      "a\\*",
      "2026-12-31T23:59:59.999+14:00",
      "true",
      "[",
      "00000000-0000-7000-8000-000000000000",
    ];
    let ran = 0;
    for (const [connection, table] of tables)
      for (const { name } of listFields(table))
        for (const value of hostile)
          for (const asked of [
            `"${value.replace(/\\/g, "\\\\")}"`,
            `>="${value.replace(/\\/g, "\\\\")}"`,
            `"${value.replace(/\\/g, "\\\\")}"*`,
          ])
            if (
              hash(`${name}${value}${asked}`) % 7 === 0 &&
              (await found(connection, `${name}:${asked}`)) !== null
            )
              ran++;
    expect(ran).toBeGreaterThan(200);
  });
});

function hash(text: string): number {
  return Array.from(text).reduce((all, char) => (all * 31 + char.charCodeAt(0)) % 1_000_003, 7);
}
