import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { insertOrderRows } from "../helpers/orderRows.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
  const client = await database.pool.connect();
  await insertOrderRows(client, { orders: 300, issuesPerOrder: 4 });
  client.release();
});
afterAll(() => database.drop());

/** The stored counts, their exact times, and the same computed from the issues. */
async function bothWays(client: pg.ClientBase) {
  const ask = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows;
  const columns =
    "kind, code, key, order_count::integer, occurrences::integer, first_seen_at, last_seen_at";
  return {
    counted: await ask(
      `select ${columns} from order_import_causes where order_count > 0 order by kind, code, key`,
    ),
    asked: await ask(
      `select kind, code, key, count(*)::integer as order_count, sum(occurrences)::integer as occurrences,
         min(first_seen_at) as first_seen_at, max(last_seen_at) as last_seen_at
       from order_import_issues where resolved_at is null and not order_is_superseded
       group by kind, code, key order by kind, code, key`,
    ),
  };
}

const groupColumns =
  "code, key, order_count::integer, occurrences::integer, first_seen_at, last_seen_at";
const groups = async (client: pg.ClientBase) => {
  const { rows } = await client.query(
    `select ${groupColumns} from order_import_issue_groups('MAPPING', 25)`,
  );
  return rows;
};
const groupsAsked = async (client: pg.ClientBase) => {
  const { rows } = await client.query(
    `select ${groupColumns} from (
       select code, key, count(*) as order_count, sum(occurrences) as occurrences,
         min(first_seen_at) as first_seen_at, max(last_seen_at) as last_seen_at
       from order_import_issues where kind = 'MAPPING' and resolved_at is null and not order_is_superseded
       group by code, key
     ) as g order by g.order_count desc, last_seen_at desc, code, key limit 25`,
  );
  return rows;
};

const steps = [
  "delete from order_import_issues where hashtext(id::text) % 7 = 0",
  "update order_import_issues set resolved_at = now() where hashtext(id::text) % 5 = 0",
  "update order_import_issues set last_seen_at = last_seen_at + interval '1 day' where hashtext(id::text) % 3 = 0",
  "update order_import_issues set resolved_at = null, occurrences = 9 where hashtext(id::text) % 10 = 0",
  "update order_import_issues set key = 'moved' where hashtext(id::text) % 11 = 0",
  `update orders o set superseded_by_order_id = (select id from orders s where s.id <> o.id limit 1) where hashtext(id::text) % 4 = 0`,
  "update orders set superseded_by_order_id = null where hashtext(id::text) % 8 = 0",
  "delete from orders where hashtext(id::text) % 6 = 0",
  `insert into order_import_issues (order_id, kind, code, key, message, first_seen_at, last_seen_at)
   select id, 'DATA', 'price.missing', 'new', 'No price', '2020-01-01Z', now() from orders where hashtext(id::text) % 2 = 0`,
];

describe("the counts of the causes", () => {
  test("match the issues after every change of issues and orders", () =>
    inTransaction(database.pool, async (client) => {
      await client.query(
        "select set_config('office.user_id', gen_random_uuid()::text, true), set_config('office.permissions', 'erpsync.read', true)",
      );
      for (const step of [...steps, ...steps.slice(0, -1).toReversed()]) {
        await client.query(step);
        expect(await groups(client)).toEqual(await groupsAsked(client));
        await client.query("savepoint exact; select refresh_import_causes()");
        const { counted, asked } = await bothWays(client);
        expect(asked.length).toBeGreaterThan(20);
        expect({ step, counted }).toEqual({ step, counted: asked });
        // The next step starts with counts that are not refreshed.
        await client.query("rollback to exact");
      }
    }));

  test("fall to 0 without issues, and start again", () =>
    inTransaction(database.pool, async (client) => {
      await client.query("delete from order_import_issues");
      expect(await bothWays(client)).toEqual({ counted: [], asked: [] });
      await client.query(steps.at(-1)!);
      const { counted, asked } = await bothWays(client);
      expect(counted).toHaveLength(1);
      expect(counted).toEqual(asked);
    }));

  test("match after concurrent transactions", async () => {
    await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        database.pool.query(
          `insert into order_import_issues (order_id, kind, code, key, message)
           select id, 'MAPPING', 'vat_code.unmapped', 'shared', 'No rule' from orders
           where superseded_by_order_id is null order by erp_order_number offset $1 limit 20`,
          [n * 20],
        ),
      ),
    );
    const { rows } = await database.pool.query(
      "select order_count::integer from order_import_causes where key = 'shared'",
    );
    expect(rows).toEqual([{ order_count: 160 }]);
  });
});
