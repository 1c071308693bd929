import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { manifestFile } from "../../src/commands/backupFiles.ts";
import { type OldPostgres, startOldPostgres } from "../helpers/oldPostgres.ts";
import { runCommand } from "../helpers/commands/run.ts";

let old: OldPostgres;
let folder: string;

beforeAll(async () => {
  old = await startOldPostgres("15.18 (Debian 15.18-0+deb12u1)");
  folder = await mkdtemp(join(tmpdir(), "old-database-"));
  const manifest = {
    format: "back-office backup 1",
    tenant: "backoffice",
    stamp: "1",
    release: "0.1.0",
    lastMigration: "0001_first.sql",
    postgres: "18",
    takenAt: "now",
    tables: [],
  };
  await writeFile(join(folder, manifestFile), JSON.stringify(manifest));
});
afterAll(async () => {
  await old.stop();
  await rm(folder, { recursive: true });
});

const sentence =
  "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) is too old: this service needs PostgreSQL 18 or newer\n";

test.each([
  ["src/migration/migrate.ts", []],
  ["src/server.ts", []],
  ["src/worker.ts", []],
  ["src/commands/backup.ts", ["never"]],
  ["src/commands/restore.ts", ["."]],
  ["src/commands/jobs.ts", ["list"]],
  ["src/commands/verifyAudit.ts", []],
  ["src/commands/rotateKeys.ts", ["search"]],
])("%s %j refuses PostgreSQL 15 in one sentence", async (script, args) => {
  const places = args.map((arg) => (/^(never|\.)$/.test(arg) ? join(folder, arg) : arg));
  const outcome = await runCommand(script, places, { DATABASE_URL: old.url });
  expect(outcome).toEqual({ code: 1, output: sentence });
  // No statement ran there, and no backup was started.
  expect(new Set(old.queries.splice(0))).toEqual(
    new Set(["select current_setting('server_version') as version"]),
  );
  expect(await readdir(folder)).toEqual([manifestFile]);
});

test("npm run doctor reports an old PostgreSQL and checks nothing else", async () => {
  const { code, output } = await runCommand("src/commands/doctor.ts", [], {
    DATABASE_URL: old.url,
  });
  const wrong = output.split("\n").filter((line) => line.startsWith("WRONG"));
  expect(wrong).toEqual([`WRONG   DATABASE_URL: ${sentence.trim()}`]);
  expect(code).toBe(1);
});
