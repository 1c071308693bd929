import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { poolFor } from "../../src/postgres/pools.ts";
import { createLog } from "../../src/process/log.ts";
import { queueLogger } from "../../src/workers/queue/queueLogger.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";

const collect = () => {
  const lines: Record<string, unknown>[] = [];
  const destination = {
    write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>),
  };
  return { lines, log: createLog("debug", destination) };
};

describe("the log", () => {
  test("redacts secrets by name, two levels deep and in request headers", () => {
    const { lines, log } = collect();
    const secret = "hunter2";
    log.info({ token: secret, user: { password: secret, name: "Anna" } }, "one");
    log.child({ secret }).warn({ a: { b: { apiKey: secret } } }, "two");
    log.error({ req: { headers: { authorization: secret, cookie: secret, host: "office" } } });
    expect(JSON.stringify(lines)).not.toContain(secret);
    expect(lines[0]).toMatchObject({
      level: "info",
      token: "[hidden]",
      user: { password: "[hidden]", name: "Anna" },
      msg: "one",
    });
    expect(lines[0]?.["time"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("identifies a job without logging its input", () => {
    const { lines, log } = collect();
    const payload = { tenant: "backoffice", correlationId: "request-1", input: { key: "hunter2" } };
    const job = { id: "7", task_identifier: "t", attempts: 2, max_attempts: 25, payload };
    const error = Object.assign(new Error("no such row"), { code: "OF404", detail: "hunter2" });
    queueLogger(log).error("Failed task", { failure: true, job, error, duration: 12.3 });
    expect(lines).toMatchObject([
      {
        level: "error",
        msg: "job failed",
        jobId: "7",
        task: "t",
        attempt: 2,
        attempts: 25,
        tenant: "backoffice",
        correlationId: "request-1",
        durationMs: 12,
        error: { message: "no such row", code: "OF404" },
      },
    ]);
    expect(JSON.stringify(lines)).not.toContain("hunter2");
  });
});

describe("a connection pool", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database?.drop());

  test("uses its role and keeps the options of the connection URL", async () => {
    const url = new URL(database.url);
    url.searchParams.set("options", "-c statement_timeout=1234");
    const pool = poolFor(url.href, "office_worker", 1, { responseTimeoutMs: 60_000 });
    const { rows } = await pool.query(
      "select current_user as role, current_setting('statement_timeout') as timeout",
    );
    await pool.end();
    expect(rows).toEqual([{ role: "office_worker", timeout: "1234ms" }]);
  });

  test("survives a connection that breaks, idle or in use", async () => {
    const pool = poolFor(database.url, "office_worker", 2, { responseTimeoutMs: 60_000 });
    const client = await pool.connect();
    await pool.query("select 1");
    await database.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'office_worker' and datname = current_database()",
    );
    await expect(client.query("select 1")).rejects.toThrow(/terminat|not queryable/);
    client.release(true);
    await waitFor("a new connection", () =>
      pool.query("select 1").then(
        () => true,
        () => false,
      ),
    );
    await pool.end();
  });
});
