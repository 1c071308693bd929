import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { enginePlants } from "../helpers/db/enginePlants.ts";
import { policyPlants } from "../helpers/db/policyPlants.ts";
import { rightPlants } from "../helpers/db/rightPlants.ts";
import { searchPlants, searchSound } from "../helpers/db/searchPlants.ts";
import { sound } from "../helpers/db/soundTable.ts";
import { tablePlants } from "../helpers/db/tablePlants.ts";
import { tagPlants } from "../helpers/db/tagPlants.ts";
import { viewPlants, viewSound } from "../helpers/db/viewPlants.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

/** The violations after a statement, which is rolled back. */
async function violationsAfter(sql: string): Promise<string[]> {
  return inTransaction(database.pool, async (client) => {
    await client.query(sql);
    const { rows } = await client.query<{ violation: string }>(
      "select v as violation from schema_violations() as v order by 1",
    );
    return rows.map((row) => row.violation);
  });
}

describe("The schema rules", () => {
  test("are satisfied by this schema", async () => {
    expect(await violationsAfter("select 1")).toEqual([]);
  });

  test("are satisfied by the table and function that the violations start from", async () => {
    expect(await violationsAfter(sound)).toEqual([]);
  });

  test("accept an index without rows whose foreign key is null", async () => {
    const sql =
      "drop index planted_product_id_idx; create index on planted (product_id) where product_id is not null";
    expect(await violationsAfter(`${sound}; ${sql}`)).toEqual([]);
  });

  test.each([...searchSound, ...viewSound])("accept $what", async ({ sql }) => {
    expect(await violationsAfter(`${sound}; ${sql}`)).toEqual([]);
  });

  test.each([
    ...tablePlants,
    ...tagPlants,
    ...viewPlants,
    ...searchPlants,
    ...enginePlants,
    ...rightPlants,
    ...policyPlants,
  ])("detect $what", async ({ sql, violations }) => {
    expect(await violationsAfter(`${sound}; ${sql}`)).toEqual(violations);
  });
});
