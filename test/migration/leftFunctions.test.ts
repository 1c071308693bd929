import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { createExtraSqlDir, runMigrate } from "../helpers/migration/extraSqlDir.ts";

let database: TestDatabase;
let own: ExtraSqlDir;

beforeAll(async () => {
  [database, own] = await Promise.all([createDatabase(), createExtraSqlDir()]);
});
afterAll(() => Promise.all([database.drop(), own.remove()]));

const migrate = (...args: string[]) => runMigrate(database.url, own.path, args);

test("a function that no file creates any more is refused, until a migration drops it", async () => {
  const cellarCount = `create or replace function cellar_count(place text) returns integer as $$ select 1 $$ language sql stable;
      comment on function cellar_count is E'@guard products.read\\nHow many.'; grant execute on function cellar_count to office_api;`;
  await own.logic("cellar_count", cellarCount);
  expect(await migrate()).toMatchObject({ code: 0 });
  await own.logic("cellar_count", "select 1;");
  const { code, output } = await migrate("--allow-breaking");
  expect(output).toContain(
    "Functions of the API are in no file any more, nothing was changed:\n  - cellar_count(text) stays until it is dropped: write `drop function if exists cellar_count(text)` in a migration, or restore its file\n",
  );
  expect(code).toBe(1);
  await own.migration("cellar_count", "drop function if exists cellar_count(text);");
  const dropped = await migrate("--allow-breaking");
  expect(dropped.output).toContain("  - Query.cellarCount was removed.\n");
  expect(dropped.code).toBe(0);
  const { rows } = await database.pool.query("select to_regproc('cellar_count') as found");
  expect(rows).toEqual([{ found: null }]);
});
