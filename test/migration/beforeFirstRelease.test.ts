import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runCommand } from "../helpers/commands/run.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import { runMigrate } from "../helpers/migration/extraSqlDir.ts";

// The first release replaced the migrations of the versions before it: a database that lists those cannot be continued.
const oldMigrations = [
  "0001_text",
  "0002_access",
  "0003_audit",
  "0004_catalogue",
  "0010_departments",
];

let database: TestDatabase;
let dataDir: string;

beforeAll(async () => {
  database = await createDatabase();
  dataDir = await mkdtemp(join(tmpdir(), "before-release-"));
  await database.pool.query("truncate schema_migrations");
  await database.pool.query(
    "insert into schema_migrations (name, run_on) select n, now() from unnest($1::text[]) as n",
    [oldMigrations],
  );
  await database.pool.query("comment on schema backoffice is 'before'");
});
afterAll(() => Promise.all([database.drop(), rm(dataDir, { recursive: true, force: true })]));

const message = [
  'The migrations of the schema "backoffice" are of a version before the first release, nothing was changed.',
  "The migrations of the first release replace them and cannot continue from them. Start over with an empty database:",
  "  - the embedded database: stop `npm start`, then run `npm run db:reset`",
  "  - a database of your own: drop it and create it again",
].join("\n");

describe("A database of a version before the first release", () => {
  test("is refused by the migrate command, with the way to start over", async () => {
    expect(await runMigrate(database.url)).toEqual({
      code: 1,
      output: `${message}\n`,
    });
  });

  test("ends npm start with the same message", async () => {
    const { code, output } = await runCommand("dev/start.ts", [], {
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      PORT: "0",
    });
    expect(output).toContain(message);
    expect(code).toBe(1);
  });

  test("keeps its migrations and tables", async () => {
    const { rows } = await database.pool.query(
      `select array(select name from schema_migrations order by name) as names,
         obj_description('backoffice'::regnamespace, 'pg_namespace') as stamp, to_regclass('products') is not null as products`,
    );
    expect(rows).toEqual([{ names: oldMigrations, stamp: "before", products: true }]);
  });
});
