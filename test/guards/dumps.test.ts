import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { dumpSchema } from "../../dev/dump/dumpSchema.ts";
import { firstDifference } from "../../dev/dump/firstDifference.ts";
import { findStale, makeDumps } from "../../dev/generate.ts";
import { migrateTenant } from "../../src/migration/migrateTenant.ts";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

describe("the committed dumps", () => {
  test("match the database and the API", async () => {
    expect(await findStale(await makeDumps(database.pool, "backoffice"))).toEqual([]);
  });

  test("are reported when one is missing or differs, with the different lines", async () => {
    const folder = await mkdtemp(join(tmpdir(), "dumps-"));
    try {
      const path = join(folder, "schema.sql");
      const dump = { path, text: "create table users (\n  id uuid\n);\n" };
      expect(await findStale([dump])).toEqual([
        expect.stringMatching(
          /schema\.sql is stale; `npm run generate` rewrites it:\n {2}line 1:\n {2}\+ create table users \(\n/,
        ),
      ]);
      await writeFile(path, dump.text);
      expect(await findStale([dump])).toEqual([]);
      expect(await findStale([{ path, text: dump.text.replace("uuid", "text") }])).toEqual([
        expect.stringMatching(
          /schema\.sql is stale; .*:\n {2}line 2:\n {2}- {3}id uuid\n {2}\+ {3}id text$/,
        ),
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("the reported difference", () => {
  const lines = Array.from({ length: 2000 }, (_, index) => `line ${index}`);
  const shown = (changed: string[]) => firstDifference(lines.join("\n"), changed.join("\n"));

  test("is the first one of several", () => {
    expect(shown(lines.with(5, "x").with(1500, "y"))).toBe("  line 6:\n  - line 5\n  + x");
  });

  test.each([
    ["lines that are new", lines.toSpliced(5, 0, "n", "m"), "  line 6:\n  + n\n  + m"],
    ["lines that are gone", lines.toSpliced(5, 2), "  line 6:\n  - line 5\n  - line 6"],
    ["a new end", [...lines, "z"], "  line 2001:\n  + z"],
  ])("has %s", (_what, changed, difference) => {
    expect(shown(changed)).toBe(difference);
  });

  test("is truncated when it is long", () => {
    const text = shown(lines.toSpliced(100, 100)) ?? "";
    expect(text.split("\n")).toHaveLength(7);
    expect(text).toMatch(/\n {2}- \.\.\. and 95 more lines$/);
  });
});

describe("the dump of the database", () => {
  test("is the same for another tenant, and after another migration", async () => {
    const client = await database.pool.connect();
    try {
      const main = await dumpSchema(client, "backoffice");
      await migrateTenant(client, "backoffice_e2e_fingerprint");
      expect(
        firstDifference(main, await dumpSchema(client, "backoffice_e2e_fingerprint")),
      ).toBeUndefined();
      await migrateTenant(client, "backoffice");
      expect(firstDifference(main, await dumpSchema(client, "backoffice"))).toBeUndefined();
    } finally {
      client.release();
    }
  });

  test("does not change the search path", async () => {
    await inTransaction(database.pool, async (client) => {
      await dumpSchema(client, "backoffice");
      const { rows } = await client.query("show search_path");
      expect(rows).toEqual([{ search_path: "backoffice,extensions,pg_temp" }]);
    });
  });

  test.each([
    ["a column", "alter table reviewers add column country text"],
    ["a default", "alter table reviewers alter column name set default 'x'"],
    ["a null", "alter table reviewers alter column name drop not null"],
    ["a collation", 'alter table reviewers alter column name type text collate "C"'],
    ["a constraint", "alter table reviewers drop constraint reviewers_name_check"],
    [
      "a constraint that old rows may break",
      "alter table reviewers add constraint c check (name <> 'x') not valid",
    ],
    ["an index", "create index on reviewers (created_at)"],
    ["a trigger", "drop trigger _100_timestamps on reviewers"],
    ["a trigger that is off", "alter table reviewers disable trigger _100_timestamps"],
    ["row-level security", "alter table reviewers no force row level security"],
    ["a policy", "alter policy reviewers_read on reviewers using (true)"],
    ["whom a policy is for", "alter policy reviewers_read on reviewers to public"],
    ["a grant", "grant delete on reviewers to office_worker"],
    ["a grant on a column", "revoke select (name) on reviewers from office_api"],
    ["an owner", "alter table reviewers owner to office_worker"],
    ["a comment", "comment on column reviewers.name is 'x'"],
    [
      "the comment of a constraint",
      "comment on constraint reviewers_name_check on reviewers is 'x'",
    ],
    [
      "a function's body",
      "create or replace function is_scoped() returns boolean language sql stable parallel safe return true",
    ],
    ["a function's security", "alter function is_scoped() security definer"],
    ["a function's settings", "alter function is_scoped() set work_mem = '8MB'"],
    ["who may call a function", "grant execute on function is_scoped() to public"],
    ["an enum", "alter type campaign_medium rename value 'OTHER' to 'ANOTHER'"],
    ["a new type", "create type pair as (a text, b text)"],
    ["a view", "create view names as select name from reviewers"],
    [
      "a partition that is for no month",
      "alter table audit_log_reads detach partition audit_log_reads_default",
    ],
    ["a right on the schema", "grant create on schema backoffice to office_api"],
    [
      "a default right",
      "alter default privileges for role office_owner grant select on tables to office_api",
    ],
    [
      "an object of a rarer kind",
      "create text search configuration plain (copy = pg_catalog.simple)",
    ],
    ["the queue's door", "grant execute on all functions in schema office_jobs to office_api"],
    ["who may become whom", "grant office_owner to office_server"],
    ["what a role may do", "alter role office_server bypassrls"],
  ])("changes with %s", async (_what, statement) => {
    await inTransaction(database.pool, async (client) => {
      const before = await dumpSchema(client, "backoffice");
      await client.query(statement);
      expect(firstDifference(before, await dumpSchema(client, "backoffice"))).toBeDefined();
    });
  });

  test("does not change with monthly partitions", async () => {
    await inTransaction(database.pool, async (client) => {
      const before = await dumpSchema(client, "backoffice");
      await client.query("select ensure_audit_partitions(7)");
      expect(firstDifference(before, await dumpSchema(client, "backoffice"))).toBeUndefined();
    });
  });
});
