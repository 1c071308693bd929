import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { readConstraints } from "../../src/errors/constraints.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const fieldsOf = async (name: string) =>
  (await readConstraints(database.pool, "backoffice")).get(name)?.fields;

test("an exclusion constraint is about its columns and those of its ranges, not of its condition", async () => {
  expect(await fieldsOf("resource_bookings_overlap_excl")).toEqual([
    "resourceId",
    "startsAt",
    "endsAt",
  ]);
});

test("a unique index of an expression is about the columns in it", async () => {
  expect(await fieldsOf("wine_types_name_key")).toEqual(["name"]);
});

test("a column name with signs of regular expressions stops no server", async () => {
  await database.pool.query(
    `create table casks ("size (litres" numeric);
     create unique index casks_size_key on casks (round("size (litres"))`,
  );
  expect(await fieldsOf("casks_size_key")).toBeDefined();
});
