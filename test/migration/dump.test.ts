import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { migrate } from "../../src/migration/migrate.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { findProgram } from "../helpers/programs.ts";

const run = promisify(execFile);

/** Whether the client programs of the embedded server's version, or a later one, are installed. */
function hasClients(): boolean {
  const path = findProgram("pg_dump");
  if (path === null || findProgram("pg_restore") === null) return false;
  const [, major] = /(\d+)/.exec(execFileSync(path, ["--version"], { encoding: "utf8" })) ?? [];
  return Number(major) >= 18;
}

const clients = hasClients();
if (!clients) console.warn("pg_dump 18 is not installed: the restore of a dump is not tested");
const testWithClients = clients ? test : test.skip;

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

describe("a dump", () => {
  // `pg_dump` writes a table after the functions that it knows the table to need, and not after those that they call.
  test("holds functions before the tables that need them, also through other functions", async () => {
    const { rows } = await database.pool.query<{ function: string }>(
      `with recursive used as (
         select d.refobjid as oid from pg_depend d
         where d.refclassid = 'pg_proc'::regclass
           and d.classid in ('pg_class'::regclass, 'pg_constraint'::regclass, 'pg_attrdef'::regclass)
         union
         select d.refobjid from used u join pg_depend d
           on d.classid = 'pg_proc'::regclass and d.objid = u.oid and d.refclassid = 'pg_proc'::regclass
       )
       select p.oid::regprocedure::text as function
       from used u join pg_proc p on p.oid = u.oid join pg_language l on l.oid = p.prolang
       where l.lanname = 'sql' and p.prosqlbody is null
         and p.pronamespace in (current_schema()::regnamespace, 'extensions'::regnamespace)`,
    );
    expect(rows).toEqual([]);
  });

  testWithClients("is restored into an empty database, which a migration accepts", async () => {
    const folder = await mkdtemp(join(tmpdir(), "dump-"));
    const copy = new URL(database.url);
    copy.pathname = `${copy.pathname}_copy`;
    const name = pg.escapeIdentifier(copy.pathname.slice(1));
    const file = join(folder, "office.dump");
    try {
      await database.pool.query("insert into reviewers (name) values ('Ærø'), ('Ann')");
      await run("pg_dump", ["--format=custom", `--file=${file}`, `--dbname=${database.url}`]);
      await database.pool.query(`create database ${name}`);
      await run("pg_restore", ["--exit-on-error", `--dbname=${copy.href}`, file]);
      await migrate({ ownerUrl: copy.href, tenant: "backoffice" }, () => {});
      const client = new pg.Client(copy.href);
      await client.connect();
      const { rows } = await client.query("select name from backoffice.reviewers order by name");
      await client.end();
      expect(rows).toEqual([{ name: "Ann" }, { name: "Ærø" }]);
    } finally {
      await database.pool.query(`drop database if exists ${name}`);
      await rm(folder, { recursive: true });
    }
  });
});
