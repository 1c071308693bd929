import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { TestDatabase } from "../helpers/database.ts";
import { runCommand } from "../helpers/commands/run.ts";
import { createDatabase } from "../helpers/database.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { createExtraSqlDir, runMigrate } from "../helpers/migration/extraSqlDir.ts";

let database: TestDatabase;
let applied: ExtraSqlDir;
/** The applied folder, which each test modifies. */
let own: ExtraSqlDir;
let today: string;

beforeAll(async () => {
  [database, applied] = await Promise.all([createDatabase(), createExtraSqlDir()]);
  await applied.migration("first", "-- The first.\nselect 1;");
  await applied.migration("vat", "-- The second.\nselect 2;");
  expect(await runMigrate(database.url, applied.path)).toMatchObject({ code: 0 });
  const { rows } = await database.pool.query<{ today: string }>(
    "select to_char(run_on, 'YYYY-MM-DD') as today from own_schema_migrations limit 1",
  );
  today = rows[0]?.today ?? "";
});
afterAll(() => Promise.all([database.drop(), applied.remove()]));
beforeEach(async () => {
  own = await createExtraSqlDir(applied.path);
});
afterEach(() => own.remove());

const pathOf = (name: string) => join(own.path, "migrations", name);
const migrate = () => runMigrate(database.url, own.path);

describe("the migrate command", () => {
  test("changes neither the queue nor a login with the files of another release", async () => {
    await writeFile(pathOf("0002_vat.sql"), "-- The second.\nselect 3;");
    const comment = async () => {
      const { rows } = await database.pool.query<{ text: string }>(
        "select obj_description('office_jobs.unlock_all()'::regprocedure, 'pg_proc') as text",
      );
      return rows[0]?.text;
    };
    await database.pool.query(
      "comment on function office_jobs.unlock_all() is 'Of a newer release.'",
    );
    const { code, output } = await migrate();
    expect([code, await comment()]).toEqual([1, "Of a newer release."]);
    expect(output).not.toContain("can log in");
  });

  test("rejects an applied migration that was edited", async () => {
    await writeFile(pathOf("0002_vat.sql"), "-- The second.\nselect 3;");
    const { code, output } = await migrate();
    expect(output).toContain(
      `  - 0002_vat.sql was applied on ${today} and has changed since: restore it and put the change into a new migration`,
    );
    expect(code).toBe(1);
  });

  test("rejects an applied migration that was removed", async () => {
    await rm(pathOf("0002_vat.sql"));
    const { code, output } = await migrate();
    expect(output).toContain(
      `  - 0002_vat.sql was applied on ${today} and is missing: restore it, and write a new migration to undo what it did`,
    );
    expect(code).toBe(1);
  });

  test("leaves the database of a newer release as it is with --accept-newer", async () => {
    await rm(pathOf("0002_vat.sql"));
    expect((await migrate()).output).toContain(
      "you roll back, leave the database as it is: --accept-newer",
    );
    const accepting = () => runMigrate(database.url, own.path, ["--accept-newer"]);
    expect(await accepting()).toEqual({
      code: 0,
      output: "A newer release has migrated this database (0002_vat.sql): it stays as it is\n",
    });
    const { rows } = await database.pool.query("select name from own_schema_migrations");
    expect(rows).toHaveLength(2);

    const env = { DATABASE_URL: database.url, DATABASE_EXTRA_SQL_DIR: own.path };
    const doctor = await runCommand("src/commands/doctor.ts", [], env);
    expect(doctor.output).toMatch(
      /^WARNING a newer release has migrated the schema "backoffice": 0002_vat\.sql\n +-> Servers and workers of this release work with it/m,
    );

    // A newer release may have changed logic only.
    await database.pool.query("comment on schema backoffice is 'stamp fingerprint 99.1.0'");
    const whole = () => runMigrate(database.url, applied.path, ["--accept-newer"]);
    expect((await whole()).output).toContain("(release 99.1.0): it stays as it is");
    await database.pool.query("comment on schema backoffice is 'stamp fingerprint 0.0.9'");
    expect((await whole()).output).not.toContain("A newer release");
    // An empty folder is not a release of before.
    await rm(pathOf("0001_first.sql"));
    expect((await accepting()).output).toContain("set DATABASE_EXTRA_SQL_DIR to the folder");
    await writeFile(pathOf("0001_first.sql"), "-- The first.\nselect 1;");

    // An edited file is not the mark of a newer release.
    await writeFile(pathOf("0001_first.sql"), "-- The first.\nselect 3;");
    expect(await accepting()).toMatchObject({
      code: 1,
      output: expect.not.stringContaining("--accept-newer"),
    });
  });

  test("rejects an applied migration that was renamed", async () => {
    await rename(pathOf("0002_vat.sql"), pathOf("0002_vat_rates.sql"));
    const { output } = await migrate();
    expect(output).toContain(
      `  - 0002_vat.sql was applied on ${today} and is now called 0002_vat_rates.sql: give it its old name back`,
    );
    expect(output.match(/^ {2}- /gm)).toHaveLength(1);
  });

  test("rejects a new migration with a lower number than an applied one", async () => {
    await rename(pathOf("0001_first.sql"), pathOf("0001_first.sql.txt"));
    await rm(pathOf("0001_first.sql.txt"));
    await writeFile(pathOf("0001_before.sql"), "select 0;");
    const { code, output } = await migrate();
    expect(output).toContain(
      `  - 0001_before.sql has not run, and 0002_vat.sql was applied before it on ${today}: give it the next free number, 0003`,
    );
    expect(output).toContain(`  - 0001_first.sql was applied on ${today} and is missing`);
    expect(code).toBe(1);
  });

  test("stops when the deployment's own folder is missing", async () => {
    const { code, output } = await runMigrate(database.url);
    expect(output).toContain(
      `  - 0002_vat.sql of the deployment's own folder was applied on ${today}: set DATABASE_EXTRA_SQL_DIR to the folder that holds "migrations" with this file`,
    );
    expect(code).toBe(1);
  });

  test("ignores different line ends", async () => {
    const text = await readFile(pathOf("0002_vat.sql"), "utf8");
    await writeFile(pathOf("0002_vat.sql"), text.replaceAll("\n", "\r\n"));
    expect(await migrate()).toMatchObject({ code: 0 });
  });

  test("stores checksums of migrations applied before checksums existed", async () => {
    await database.pool.query("alter table own_schema_migrations drop column checksum");
    expect(await migrate()).toMatchObject({ code: 0 });
    await writeFile(pathOf("0001_first.sql"), "select 3;");
    expect((await migrate()).output).toContain("0001_first.sql was applied on");
  });

  test("changes nothing when it rejects", async () => {
    await writeFile(pathOf("0002_vat.sql"), "select 3;");
    await own.migration("third", "select 3;");
    expect(await migrate()).toMatchObject({ code: 1 });
    const { rows } = await database.pool.query("select name from own_schema_migrations order by 1");
    expect(rows).toEqual([{ name: "0001_first" }, { name: "0002_vat" }]);
  });
});

describe("with --check, the migrate command", () => {
  const check = () => runMigrate(database.url, own.path, ["--check"]);

  test("changes nothing, and says that new files can be applied or why not", async () => {
    expect(await check()).toEqual({
      code: 0,
      output: expect.stringContaining("there is nothing to check"),
    });
    await writeFile(
      pathOf("0003_cellars.sql"),
      "alter table wine_types add column cellar text; comment on column wine_types.cellar is 'The cellar.';",
    );
    const fits = await check();
    expect(fits.output).toContain("+ WineType.cellar");
    expect(fits).toMatchObject({
      code: 0,
      output: expect.stringContaining("The files can be applied; nothing was changed."),
    });
    await writeFile(pathOf("0003_cellars.sql"), "alter table wine_types add column cellar text;");
    expect(await check()).toEqual({
      code: 1,
      output: expect.stringContaining("column wine_types.cellar: has no description"),
    });
    const { rows } = await database.pool.query(
      "select from pg_attribute where attrelid = 'backoffice.wine_types'::regclass and attname = 'cellar'",
    );
    expect(rows).toEqual([]);
  });

  test("prints the warnings, which applying the files does not repeat", async () => {
    await writeFile(
      pathOf("0003_cellars.sql"),
      `create table cellars (id uuid primary key default uuidv7(), user_id uuid not null references users on delete restrict, name text);
       create index on cellars (user_id);
       comment on table cellars is '@read products.read\n@create products.update\n@mutations create\n@audit Cellar\nCellars.';
       comment on column cellars.name is 'The name.';`,
    );
    const warning = "WARNING: table cellars: a mutation creates rows for any user of user_id";
    expect((await check()).output).toContain(warning);
    // As a rehearsal that was committed left it.
    await database.pool.query(
      "create schema backoffice_rehearsal authorization office_owner create table cellars (id uuid)",
    );
    const applied = await migrate();
    expect(applied).toMatchObject({ code: 0 });
    expect(applied.output.split(warning)).toHaveLength(2);
  });

  test("says that a database without a schema has nothing to compare with", async () => {
    await database.pool.query("alter schema backoffice rename to backoffice_kept");
    try {
      expect(await check()).toEqual({
        code: 1,
        output: expect.stringContaining('The database has no schema "backoffice"'),
      });
    } finally {
      await database.pool.query("alter schema backoffice_kept rename to backoffice");
    }
  });
});
