import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { sql } from "postgraphile/pg-sql2";
import {
  beginsWithExactly,
  beginsWithText,
  containsText,
  equalsText,
  hasWordBeginning,
} from "../../src/query/textSql.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase, inTransaction } from "../helpers/database.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(async () => {
  await database.drop();
});

describe("the indexes of products", () => {
  const column = (name: string) => sql`p.${sql.identifier(name)}`;

  test.each([
    ["a word", containsText(column("name"), "riesling")],
    ["the beginning of a word", hasWordBeginning(column("producer"), "trim")],
    ["a text of the default fields", equalsText(column("region"), "Alsace")],
    ["the beginning of a text", beginsWithText(column("grape_variety"), "pinot")],
    ["another text", equalsText(column("country"), "France")],
    ["the beginning of an exact text", beginsWithExactly(column("erp_product_number"), "00")],
    ["an exact text", sql`${column("erp_product_number")} = any (${sql.value(["1"])}::text[])`],
    ["a number", sql`${column("vintage")} >= ${sql.value(2015)}::int4`],
    ["a time", sql`${column("created_at")} < ${sql.value("2026-01-01")}::timestamptz`],
  ])("answer conditions on %s", async (_what, condition) => {
    const { text, values } = sql.compile(sql`explain select from products p where ${condition}`);
    const plan = await inTransaction(database.pool, async (client) => {
      // With few rows nothing else would be slow; what an index cannot answer is still read whole.
      await client.query("set local enable_seqscan = off; set local enable_indexscan = off");
      return client.query<{ "QUERY PLAN": string }>(text, values);
    });
    expect(plan.rows.map((row) => row["QUERY PLAN"]).join("\n")).toMatch(/Index Cond/);
  });
});
