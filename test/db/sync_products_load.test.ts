import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { waitFor } from "../helpers/waitFor.ts";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { fingerprint, stored, statuses, sync, wine } from "../helpers/db/syncCalls.ts";
import type { Row } from "../helpers/db/syncCalls.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

const rolledBack = (work: (client: pg.PoolClient) => Promise<void>) =>
  inTransaction(database.pool, work);

describe("A thousand rows of syncProducts", () => {
  const rows = (count: number, name = "Wine") =>
    Array.from({ length: count }, (_, n) =>
      wine(String(n), {
        fields: { name: `${name} ${n}`, wineType: "Red" },
        ratings: [{ reviewerName: `Reviewer ${n % 7}`, points: "90" }],
      }),
    );

  /** The statements that PostgreSQL runs for a call, including those in functions, without foreign key checks. */
  async function countStatements(client: pg.PoolClient, call: Row[]): Promise<number> {
    await client.query("load 'auto_explain'");
    for (const [name, value] of [
      ["auto_explain.log_min_duration", "0"],
      ["auto_explain.log_nested_statements", "on"],
      ["auto_explain.log_level", "notice"],
      ["auto_explain.log_parameter_max_length", "0"],
    ])
      await client.query("select set_config($1, $2, true)", [name, value]);
    let count = 0;
    const listen = (notice: { message?: string }) => {
      // Functions without a table, as in an indexed expression, also log a plan.
      const touchesTables = /Scan|(Insert|Update|Delete) on/.test(notice.message ?? "");
      if (touchesTables && !notice.message?.includes("SELECT 1 FROM ONLY")) count++;
    };
    client.on("notice", listen);
    try {
      await sync(client, call);
    } finally {
      client.off("notice", listen);
    }
    return count;
  }

  test.each(["created", "changed", "repeated"])(
    "take as many SQL statements as ten: %s rows",
    (kind) =>
      rolledBack(async (client) => {
        const counts: number[] = [];
        for (const size of [10, 1000]) {
          await client.query("savepoint before");
          if (kind !== "created") await sync(client, rows(size));
          counts.push(
            await countStatements(client, rows(size, kind === "changed" ? "New" : "Wine")),
          );
          await client.query("rollback to before");
        }
        expect(counts[0]).toBeGreaterThan(20);
        expect(counts[1]).toBe(counts[0]);
      }),
  );

  test("are written except for one invalid row", () =>
    rolledBack(async (client) => {
      const call = rows(1000);
      call[500] = wine("500", {
        prices: [{ type: "retail", currency: "?", amount: "1" }],
      });
      const outcome = await sync(client, call);
      expect(outcome.counts).toMatchObject({ created: 999, failed: 1 });
    }));

  test("change nothing when every field is invalid", () =>
    rolledBack(async (client) => {
      const before = await fingerprint(client);
      const bad = { vintage: 1, alcoholPercent: "x", wineType: "None", name: "" };
      const call = rows(1000).map((row) => ({
        ...row,
        fields: bad,
        prices: [{ type: "retail", currency: "DKK", amount: "x" }],
      }));
      const outcome = await sync(client, call);
      expect(outcome.counts.failed).toBe(1000);
      expect(outcome.results[999]?.errors).toHaveLength(5);
      expect(await fingerprint(client)).toEqual(before);
    }));
});

describe("Calls of syncProducts at the same time", () => {
  /** Runs a call in its own transaction, as the server does. */
  async function committed(call: Row[]) {
    const client = await database.pool.connect();
    try {
      await client.query("begin");
      const outcome = await sync(client, call);
      await client.query("commit");
      return outcome;
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  }

  const numbers = Array.from({ length: 60 }, (_, n) => `c${n}`);
  /** Each caller sends an overlapping part in a different order. */
  const orderOf = (caller: number, round: number) =>
    numbers
      .filter((_, n) => (n + caller + round) % 4 !== 0)
      .map((number) => ({
        number,
        place: Math.sin(caller * 7 + round * 13 + Number(number.slice(1))),
      }))
      .sort((a, b) => a.place - b.place)
      .map(({ number }) => number);

  test("on the same products and reviewers neither fail, create duplicates nor lose updates", async () => {
    const rounds = 12;
    const callers = [0, 1, 2, 3, 4, 5];
    for (let round = 0; round < rounds; round++) {
      const outcomes = await Promise.all(
        callers.map((caller) =>
          committed(
            orderOf(caller, round).map((number) => ({
              erpProductNumber: number,
              fields: { name: `Wine ${number}` },
              // Each caller has its own price on each product, so that a lost update is visible.
              prices: [{ type: `caller_${caller}`, currency: "DKK", amount: String(round + 1) }],
              ratings: [
                { reviewerName: `${caller % 2 ? "reviewer" : "REVIEWER"} ${round}`, points: "90" },
                { reviewerName: `Reviewer ${round + 1}`, year: 2000 + caller, points: "91" },
              ],
            })),
          ),
        ),
      );
      const all = outcomes.flatMap((outcome) => outcome.results);
      expect(all.filter((result) => result.status === "FAILED")).toEqual([]);
      if (round === 0)
        expect(all.filter((result) => result.status === "CREATED")).toHaveLength(numbers.length);
    }

    const client = await database.pool.connect();
    try {
      const products = await stored(client);
      expect(Object.keys(products).sort()).toEqual(numbers.toSorted());
      const lastRound = (caller: number, number: string) =>
        Math.max(
          ...Array.from({ length: rounds }, (_, r) =>
            orderOf(caller, r).includes(number) ? r : -1,
          ),
        );
      for (const number of numbers)
        expect(products[number]?.prices).toEqual(
          callers.map((caller) => `caller_${caller} DKK ${lastRound(caller, number) + 1}.00`),
        );
      const reviewers = await client.query("select from reviewers");
      expect(reviewers.rowCount).toBe(rounds + 1);
      const created = await client.query(
        "select entity_type, count(*)::integer from audit_log where operation = 'CREATE' and entity_type in ('Product', 'Reviewer') group by 1 order by 1",
      );
      expect(created.rows).toEqual([
        { entity_type: "Product", count: numbers.length },
        { entity_type: "Reviewer", count: rounds + 1 },
      ]);
    } finally {
      client.release();
    }
  });

  test("create a new product once; the later call updates it", async () => {
    const outcomes = await Promise.all(
      ["vintage", "bottleSizeMl"].map((field) =>
        committed([{ erpProductNumber: "both", fields: { name: "Both", [field]: 2001 } }]),
      ),
    );
    expect(outcomes.flatMap(statuses).sort()).toEqual(["CREATED", "UPDATED"]);
    const { rows } = await database.pool.query(
      "select vintage, bottle_size_ml from products where erp_product_number = 'both'",
    );
    expect(rows).toEqual([{ vintage: 2001, bottle_size_ml: 2001 }]);
  });

  /** Commits `change` in another transaction during the call. */
  async function whileChanging(change: string, call: Row[]) {
    const editor = await database.pool.connect();
    try {
      await editor.query(`begin; ${change}`);
      const syncing = committed(call);
      await waitFor("the call to wait", async () => {
        const { rowCount } = await database.pool.query(
          "select from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database())",
        );
        return rowCount === 1;
      });
      await editor.query("commit");
      return await syncing;
    } finally {
      editor.release();
    }
  }

  test("wait for the deletion of a reviewer that they name, and create the reviewer again", async () => {
    await committed([{ erpProductNumber: "rated", fields: { name: "Rated" } }]);
    await database.pool.query("insert into reviewers (name) values ('Leaving')");
    const outcome = await whileChanging("delete from reviewers where name = 'Leaving'", [
      { erpProductNumber: "rated", ratings: [{ reviewerName: "leaving", points: "90" }] },
    ]);
    expect(statuses(outcome)).toEqual(["UPDATED"]);
    const { rows } = await database.pool.query(
      "select name from reviewers where name ~* 'leaving'",
    );
    expect(rows).toEqual([{ name: "leaving" }]);
  });

  test("wait for the deletion of a wine type that they name, and fail for that row only", async () => {
    await database.pool.query("insert into wine_types (name) values ('Vanishing')");
    const outcome = await whileChanging("delete from wine_types where name = 'Vanishing'", [
      { erpProductNumber: "typed", fields: { name: "Typed", wineType: "Vanishing" } },
      { erpProductNumber: "plain", fields: { name: "Plain" } },
    ]);
    expect(outcome.results.map((result) => [result.status, result.errors[0]?.code])).toEqual([
      ["FAILED", "UNKNOWN_WINE_TYPE"],
      ["CREATED", undefined],
    ]);
  });

  test("wait for a concurrent change and keep it", async () => {
    await committed([{ erpProductNumber: "other", fields: { name: "Other" } }]);
    const editor = await database.pool.connect();
    try {
      await editor.query("begin");
      await editor.query(
        "update products set producer = 'By hand' where erp_product_number = 'other'",
      );
      const syncing = committed([{ erpProductNumber: "other", fields: { vintage: 2013 } }]);
      await editor.query("commit");
      expect(statuses(await syncing)).toEqual(["UPDATED"]);
      const { rows } = await editor.query(
        "select producer, vintage from products where erp_product_number = 'other'",
      );
      expect(rows).toEqual([{ producer: "By hand", vintage: 2013 }]);
    } finally {
      editor.release();
    }
  });
});
