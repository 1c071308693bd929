import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { sql } from "postgraphile/pg-sql2";
import type { SearchTable } from "../../src/query/searchTable.ts";
import { compileQuery } from "../../src/query/compile.ts";
import { parseQuery } from "../../src/query/parse.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { actAs, createDatabase } from "../helpers/database.ts";
import { makeInProcess } from "../helpers/inProcess.ts";

let database: TestDatabase;
let client: pg.PoolClient;
let tables: ReadonlyMap<string, SearchTable>;
const users = new Map<string, string>();

/** Clocks go forward on 29 March 2026 and back on 25 October 2026 in Copenhagen. */
const moments = [
  "2026-03-28T22:59:59.999Z",
  "2026-03-28T23:00:00.000Z",
  "2026-03-29T21:59:59.999Z",
  "2026-03-29T22:00:00.000Z",
  "2026-10-24T21:59:59.999Z",
  "2026-10-24T22:00:00.000Z",
  "2026-10-25T22:59:59.999Z",
  "2026-10-25T23:00:00.000Z",
];

beforeAll(async () => {
  database = await createDatabase();
  client = await database.pool.connect();
  for (const timeZone of ["Europe/Copenhagen", "Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC"]) {
    const { rows } = await client.query<{ id: string }>(
      "insert into users (email, time_zone) values ($1, $2) returning id",
      [`${timeZone.replace("/", ".").toLowerCase()}@example.com`, timeZone],
    );
    users.set(timeZone, rows[0]!.id);
  }
  await client.query(
    `insert into products (erp_product_number, name, created_at) select t, 'Wine', t::timestamptz from unnest($1::text[]) as t`,
    [moments],
  );
  const api = await makeInProcess(database);
  await api.stop();
  ({ tables } = api);
});
afterAll(async () => {
  client.release();
  await database.drop();
});

/** The created moments that a query finds at this time for a user in this time zone. */
async function found(query: string, now: string, timeZone = "Europe/Copenhagen") {
  const condition = compileQuery(parseQuery(query), tables.get("products")!, () => new Date(now));
  const { text, values } = sql.compile(
    sql`select p.erp_product_number as moment from products as p where ${condition(sql`p`)} order by 1`,
  );
  await client.query("begin");
  try {
    await actAs(client, { userId: users.get(timeZone)!, permissions: ["products.read"] });
    const { rows } = await client.query<{ moment: string }>(text, values);
    return rows.map(({ moment }) => moment);
  } finally {
    await client.query("rollback");
  }
}

describe("today, compared with a moment", () => {
  test("is the day in the caller's time zone, also of 23 and 25 hours", async () => {
    for (const [now, first, last] of [
      ["2026-03-28T23:00:00Z", 1, 2],
      ["2026-03-29T21:59:59.999Z", 1, 2],
      ["2026-10-24T22:00:00Z", 5, 6],
      ["2026-10-25T22:59:59.999Z", 5, 6],
    ] as const)
      expect(await found("createdAt:today", now)).toEqual([moments[first], moments[last]]);
    expect(await found("createdAt:today", "2026-03-28T22:59:59.999Z")).toEqual([moments[0]]);
    expect(await found("createdAt:today", "2026-10-25T23:00:00Z")).toEqual([moments[7]]);
  });

  test("differs between callers at the same time", async () => {
    const now = "2026-10-25T10:30:00Z";
    expect(await found("createdAt:today", now, "UTC")).toEqual(moments.slice(6));
    expect(await found("createdAt:today", now, "Pacific/Kiritimati")).toEqual(moments.slice(6));
    expect(await found("createdAt:yesterday", now, "Pacific/Kiritimati")).toEqual(
      moments.slice(4, 6),
    );
    expect(await found("createdAt:today", now, "Pacific/Pago_Pago")).toEqual(moments.slice(4, 6));
    expect(await found("createdAt:tomorrow", now, "Pacific/Pago_Pago")).toEqual(moments.slice(6));
  });

  test("is moved by days, months and hours from the start of that day", async () => {
    expect(await found("createdAt:today+1d", "2026-03-28T12:00:00Z")).toEqual(moments.slice(1, 3));
    expect(await found("createdAt:today-1M", "2026-11-25T12:00:00Z")).toEqual(moments.slice(5, 7));
    expect(await found("createdAt:today+1w", "2026-10-18T12:00:00Z")).toEqual(moments.slice(5, 7));
    expect(await found("createdAt:today+1y", "2025-03-29T12:00:00Z")).toEqual(moments.slice(1, 3));
    // 24 hours after the start of a day of 23 hours.
    expect(await found("createdAt:[today-24h TO today+23h}", "2026-03-29T12:00:00Z")).toEqual(
      moments.slice(0, 3),
    );
    expect(await found("createdAt:today+23h", "2026-03-29T12:00:00Z")).toEqual([moments[3]]);
  });

  test("bounds comparisons and ranges", async () => {
    const now = "2026-10-25T00:30:00Z";
    expect(await found("createdAt:<today", now)).toEqual(moments.slice(0, 5));
    expect(await found("createdAt:<=today", now)).toEqual(moments.slice(0, 7));
    expect(await found("createdAt:>today", now)).toEqual(moments.slice(7));
    expect(await found("createdAt:>=today", now)).toEqual(moments.slice(5));
    expect(await found("createdAt:{today TO tomorrow]", now)).toEqual(moments.slice(7));
    expect(await found("createdAt:IN(today, yesterday)", now)).toEqual(moments.slice(4, 7));
    expect(await found("createdAt:[2026-10 TO today}", now)).toEqual([moments[4]]);
  });

  test("makes a range that is empty in UTC only", async () => {
    // It is the 25th in Copenhagen, and the 24th in UTC.
    const now = "2026-10-24T22:30:00Z";
    expect(await found("createdAt:[2026-10-25T12:00Z TO today]", now)).toEqual([moments[6]]);
    await expect(found("createdAt:[2026-12 TO today]", now)).rejects.toThrow(/ends before/);
  });

  test("leaves dates that are written out in UTC", async () => {
    const now = "2026-10-25T10:00:00Z";
    expect(await found("createdAt:2026-10-25", now)).toEqual(moments.slice(6));
    expect(await found("createdAt:2026-10-24", now)).toEqual(moments.slice(4, 6));
  });
});
