import { chmod, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach } from "@jest/globals";
import pg from "pg";
import type { LocalPostgres, LocalPostgresOptions } from "../../../dev/emulators/postgres.ts";
import { startLocalPostgres } from "../../../dev/emulators/postgres.ts";
import { identifyProcess } from "../../../dev/emulators/processIds.ts";
import { killHard, startInChild } from "./childScripts.ts";
import { waitFor } from "../waitFor.ts";

/** Gives each test a separate folder for databases, and stops its databases after the test. */
export function useDatabases() {
  let folder = "";
  let lines: string[] = [];
  let cleanUp: (() => Promise<unknown>)[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "embedded-postgres-"));
    // Lets the server's system user enter the folder.
    await chmod(folder, 0o755);
    lines = [];
  });

  afterEach(async () => {
    for (const step of cleanUp.reverse()) await step();
    cleanUp = [];
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  const at = (...parts: string[]) => path.join(folder, ...parts);
  return {
    /** A path in the test's folder. */
    at,
    /** The log lines of this test's databases. */
    lines: () => lines,
    /** Runs `step` after the test. */
    later: (step: () => Promise<unknown>) => void cleanUp.push(step),
    /** Starts the database in the folder `db` within this process. */
    start: async (options: Partial<LocalPostgresOptions> = {}): Promise<LocalPostgres> => {
      const log = (line: string) => void lines.push(line);
      const database = await startLocalPostgres({ dataDir: at("db"), log, ...options });
      cleanUp.push(() => database.stop());
      return database;
    },
    /** Starts a database from another process. */
    startChild: async (...args: Parameters<typeof startInChild>) => {
      const result = await startInChild(...args);
      const { child, started } = result;
      cleanUp.push(async () => {
        await killHard(child);
        await waitFor("the child's server to exit", () => !started.pid || isGone(started.pid));
      });
      return result;
    },
  };
}

/** Runs one statement on a separate connection. */
export async function query<Row extends pg.QueryResultRow>(
  url: string,
  sql: string,
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Whether no process with this id runs. */
export function isGone(pid: number): boolean {
  return identifyProcess(pid) === undefined;
}
