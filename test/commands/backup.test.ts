import { cp, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { seedDatabase } from "../../dev/access/seed.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { runCommand } from "../helpers/commands/run.ts";

let database: TestDatabase;
let other: TestDatabase;
let folder: string;
/** What the first backup holds. */
let backedUp: Record<string, string>;

beforeAll(async () => {
  [database, other] = await Promise.all([createDatabase(), createDatabase()]);
  folder = await mkdtemp(join(tmpdir(), "backup-"));
  await seedDatabase(database.pool);
  // A database without this service's schemas; the roles belong to the cluster.
  await other.pool.query("drop schema backoffice, graphile_worker, office_jobs cascade");
});
afterAll(async () => {
  await Promise.all([database.drop(), other.drop()]);
  await rm(folder, { recursive: true });
});

/** A digest of the rows of each table. */
async function contents({ pool }: TestDatabase): Promise<Record<string, string>> {
  const { rows } = await pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where (n.nspname = 'backoffice' and not c.relispartition or c.oid = 'graphile_worker._private_jobs'::regclass) and c.relkind in ('r', 'p') order by 1`,
  );
  const found: Record<string, string> = {};
  for (const { name } of rows) {
    const { rows: digests } = await pool.query<{ digest: string }>(
      `select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as digest from ${name} t`,
    );
    // The time of a migration differs between databases; a restore copies it.
    found[name] = digests[0]!.digest;
  }
  return found;
}

test("npm run db:restore refuses a folder whose manifest is damaged", async () => {
  const place = await mkdtemp(join(folder, "damaged-"));
  for (const text of ["{", "{}"]) {
    await writeFile(join(place, "backup.json"), text);
    const { code, output } = await runCommand("src/commands/restore.ts", [place], {
      DATABASE_URL: other.url,
    });
    expect({ code, output }).toEqual({
      code: 2,
      output: `${place} holds no backup of this format: its backup.json is damaged or another one's\n`,
    });
  }
});

test("npm run db:backup leaves no folder when it fails", async () => {
  const place = join(folder, "failed");
  const { code, output } = await runCommand("src/commands/backup.ts", [place], {
    DATABASE_URL: other.url,
  });
  expect({ code, output }).toEqual({
    code: 2,
    output: 'This database has no schema "backoffice" of this service\n',
  });
  await expect(stat(place)).rejects.toMatchObject({ code: "ENOENT" });
});

test("npm run db:restore restores every row and every waiting job of a backup", async () => {
  const { pool } = database;
  await pool.query("select enqueue_job('settle_jobs', '{}', 'backed up')");
  await pool.query("select seal_audit_log('0')");
  await pool.query("select seal_audit_log('0')");
  const before = await contents(database);
  backedUp = before;
  const place = join(folder, "first");
  const saved = await runCommand("src/commands/backup.ts", [place], { DATABASE_URL: database.url });
  expect(saved).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^\d+ rows of \d+ tables are in /),
  });
  // An existing folder is not overwritten.
  expect(
    (await runCommand("src/commands/backup.ts", [place], { DATABASE_URL: database.url })).code,
  ).toBe(2);

  const restored = await runCommand("src/commands/restore.ts", [place], {
    DATABASE_URL: other.url,
  });
  expect(restored.output).toContain("Restored the backup of");
  expect(await contents(other)).toEqual(before);
  expect(
    (await runCommand("src/commands/restore.ts", [place], { DATABASE_URL: other.url })).output,
  ).toContain("already");
  const verified = await runCommand("src/commands/verifyAudit.ts", [], { DATABASE_URL: other.url });
  expect(verified.output).not.toContain("row was");
  // New rows and jobs do not collide with restored ones.
  await other.pool.query("insert into users (email, is_active) values ('after@example.com', true)");
  await other.pool.query("select enqueue_job('settle_jobs', '{}', 'afterwards')");
});

test("npm run db:restore replaces what an interrupted restore left, on which no server starts", async () => {
  const empty = await createDatabase();
  try {
    await empty.pool.query("drop schema graphile_worker, office_jobs cascade");
    await empty.pool.query("comment on schema backoffice is 'restoring a backup'");
    const server = await runCommand("src/server.ts", [], { DATABASE_URL: empty.url, PORT: "0" });
    expect(server.code).toBe(1);
    expect(server.output).toContain(
      'The schema "backoffice" is being restored, or its restore was interrupted',
    );
    // Neither does a worker, which would delete the files that the rows will refer to, and no migration hides it.
    await runCommand("src/commands/restore.ts", [join(folder, "first")], {
      DATABASE_URL: empty.url,
    });
    await empty.pool.query("comment on schema backoffice is 'restoring a backup'");
    const { rowCount } = await empty.pool.query("select unknown_files(array['orphan'])");
    expect(rowCount).toBe(0);
    const others = await Promise.all([
      runCommand("src/worker.ts", [], { DATABASE_URL: empty.url, METRICS_PORT: "off" }),
      runCommand("src/migration/migrate.ts", ["--accept-newer"], { DATABASE_URL: empty.url }),
      runCommand("src/commands/doctor.ts", [], { DATABASE_URL: empty.url }),
    ]);
    expect(others.map(({ code }) => code)).toEqual([1, 1, 1]);
    for (const { output } of others) expect(output).toContain('"backoffice" is being restored');
    const place = join(folder, "first");
    const restored = await runCommand("src/commands/restore.ts", [place], {
      DATABASE_URL: empty.url,
    });
    expect(restored.output).toContain("Restored the backup of");
    expect(await contents(empty)).toEqual(backedUp);
  } finally {
    await empty.drop();
  }
});

test("npm run db:restore names the release that can restore a backup", async () => {
  const place = join(folder, "of another release");
  await cp(join(folder, "first"), place, { recursive: true });
  const file = join(place, "backup.json");
  const manifest = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  expect(manifest).toMatchObject({
    release: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    lastMigration: expect.stringMatching(/^\d{4}_\w+\.sql$/),
  });
  const older = { release: "0.0.9", lastMigration: "0003_before.sql", stamp: "other" };
  await writeFile(file, JSON.stringify({ ...manifest, ...older }));
  await other.pool.query("drop schema backoffice cascade");
  const { code, output } = await runCommand("src/commands/restore.ts", [place], {
    DATABASE_URL: other.url,
  });
  expect(output).toContain(
    "The backup is of another release: restore it with release 0.0.9, whose last migration is 0003_before.sql, and then migrate",
  );
  expect(code).toBe(2);
});

test("npm run db:restore refuses a backup with a changed file", async () => {
  const place = join(folder, "second");
  expect(
    (await runCommand("src/commands/backup.ts", [place], { DATABASE_URL: database.url })).code,
  ).toBe(0);
  await writeFile(join(place, "backoffice.users.copy.gz"), "other");
  const { code, output } = await runCommand("src/commands/restore.ts", [place], {
    DATABASE_URL: other.url,
  });
  expect(output).toContain("backoffice.users.copy.gz is missing or has changed");
  expect(code).toBe(2);
});
