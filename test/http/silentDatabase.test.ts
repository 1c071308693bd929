import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { runCommand } from "../helpers/commands/run.ts";
import { createDatabase, type TestDatabase } from "../helpers/database.ts";
import { send, timed } from "../helpers/http.ts";
import { type Proxy, startProxy } from "../helpers/proxy.ts";
import { type ServerProcess, startServerProcess } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

// A database that accepts data on open connections and never responds.
const statementMs = 500;
const limitMs = statementMs + 2_000;
// The margin for other load on the machine.
const slackMs = 10_000;
const backupFolder = join(tmpdir(), `silent-${process.pid}`);

let database: TestDatabase;
let proxy: Proxy;
let service: ServerProcess;
let token: string;

beforeAll(async () => {
  database = await createDatabase();
  proxy = await startProxy(database.url);
  service = await startServerProcess({
    database: { ...database, url: proxy.url },
    env: { DATABASE_STATEMENT_TIMEOUT_MS: String(statementMs) },
  });
  ({ token } = await service.login(["users.read", "campaigns.read", "campaigns.delete"]));
});
afterAll(async () => {
  await rm(backupFolder, { recursive: true, force: true });
  await service.stop();
  await proxy.stop();
  await database.drop();
});
afterEach(async () => {
  await proxy.restore();
  await endWorkers();
});

const ask = (query: string) => service.ask(query, { token });
const users = "{ users { id } }";
const operations = [
  users,
  "{ campaigns { id } me { id } }",
  'mutation { deleteCampaign(id: "00000000-0000-0000-0000-000000000000") }',
];
const ready = () => send(service.url, { method: "GET", path: "/readyz" });
const works = () =>
  waitFor(
    "an answer",
    async () => (await ask(users)).status === 200 && (await ready()).status === 200,
  );

/**
 * Stops the database's existing processes of a role, also within transactions of requests and jobs, which have another
 * role. New connections work. Returns a function that resumes the processes.
 */
async function stopProcesses(role: string): Promise<() => void> {
  const { rows } = await database.pool.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and (application_name = $1 or application_name like 'office %')",
    [role],
  );
  expect(rows.length).toBeGreaterThan(0);
  for (const { pid } of rows) process.kill(pid, "SIGSTOP");
  return () => {
    for (const { pid } of rows) process.kill(pid, "SIGCONT");
  };
}

/** Asks everything at once and expects each answer in time. */
async function expectUnavailable(): Promise<void> {
  const answers = await Promise.all(operations.map((operation) => timed(() => ask(operation))));
  for (const { ms, result } of answers) {
    expect(result).toMatchObject({
      status: 503,
      errors: [{ extensions: { code: "UNAVAILABLE", correlationId: expect.any(String) } }],
    });
    expect(result.headers.get("retry-after")).toBe("2");
    expect(ms).toBeLessThan(limitMs + slackMs);
  }
}

describe("a server whose database is silent on open connections", () => {
  test("answers 503 in time and continues when the network is back", async () => {
    await Promise.all(operations.map(ask));
    proxy.blackHole();
    await expectUnavailable();
    await proxy.restore();
    await works();
  });

  test("answers 503 in time while the processes of the database are stopped", async () => {
    await Promise.all(operations.map(ask));
    const resume = await stopProcesses("office_server");
    try {
      const { ms, result } = await timed(() => ask(users));
      expect(result.status).toBe(503);
      expect(ms).toBeLessThan(limitMs + slackMs);
    } finally {
      resume();
    }
    await works();
  });

  test("answers /readyz with 503 in time, also when several ask", async () => {
    await works();
    proxy.blackHole();
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all([1, 2, 3].map(() => timed(ready)));
      for (const { ms, result } of answers) {
        expect(result).toMatchObject({ status: 503, json: { database: "unreachable" } });
        expect(ms).toBeLessThan(limitMs + slackMs);
      }
    }
    await proxy.restore();
    await works();
  });
});

test("a worker gives up connections on which the database is silent and takes jobs on others", async () => {
  const worker = await startWorkerProcess(
    database.url,
    {},
    { constants: { worker: { statementTimeoutMs: 1_000 } } },
  );
  const done = '"msg":"job done"';
  const finish = async (key: string) => {
    const count = worker.output().split(done).length;
    await database.pool.query("select enqueue_job('expire_invitations', '{}', $1)", [key]);
    await waitFor(`the job ${key}`, () => worker.output().split(done).length > count);
  };
  await finish("before");
  const resume = await stopProcesses("office_worker");
  try {
    await finish("meanwhile");
  } finally {
    resume();
  }
  await finish("after");
});

test.each([
  ["src/commands/jobs.ts", ["list"], "office_jobs.queue"],
  ["src/migration/migrate.ts", [], "office.prepare"],
  ["src/commands/verifyAudit.ts", [], "isolation level repeatable read"],
  ["src/commands/backup.ts", [backupFolder], "copy (select"],
] as const)("%s ends when the database is silent", async (script, args, text) => {
  void proxy.holdResponsesTo(text);
  const outcome = await runCommand(script, args, {
    DATABASE_URL: proxy.url,
    DATABASE_MAINTENANCE_TIMEOUT_MS: "1000",
  });
  expect(outcome.output).toMatch(
    /cannot be reached: The database gave no answer for 1000 ms\nCheck host/,
  );
  expect(outcome.code).toBe(2);
});

test("the doctor reports a silent database and ends", async () => {
  void proxy.holdResponsesTo("pg_extension");
  const outcome = await runCommand("src/commands/doctor.ts", [], {
    DATABASE_URL: proxy.url,
    DATABASE_MAINTENANCE_TIMEOUT_MS: "1000",
  });
  expect(outcome.output).toContain("WRONG   DATABASE_URL: The database gave no answer for 1000 ms");
  expect(outcome.code).toBe(1);
});
