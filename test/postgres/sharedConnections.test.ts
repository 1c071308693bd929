import pg from "pg";
import { afterEach, expect, test } from "@jest/globals";
import {
  type SharedConnections,
  createSharedConnections,
} from "../../src/postgres/sharedConnections.ts";
import { runPipelined } from "../../src/postgres/requestClient.ts";
import { testDatabaseUrl } from "../helpers/environment.ts";
import { waitFor } from "../helpers/waitFor.ts";

let pool: pg.Pool;
let sharedConnections: SharedConnections;

/** With time limits that also hold on a busy machine. */
function open(settings: pg.PoolConfig = {}, quickMs?: number): void {
  pool = new pg.Pool({
    connectionString: testDatabaseUrl,
    max: 10,
    connectionTimeoutMillis: 30_000,
    pipeline: true,
    ...settings,
  });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  openLanes(quickMs);
}

function openLanes(quickMs = 40): void {
  sharedConnections = createSharedConnections(pool, { quickMs, slowMs: 60 });
}
afterEach(() => pool.end());

/** Sends one message like a request; returns the first value of its statement. */
function ask<T>(name: string, text: string, values: unknown[] = []): Promise<T> {
  return sharedConnections.run(name, async (client) => {
    const setting = { text: "select set_config('office.mark', $1, true)", values: [name] };
    const { rows } = await runPipelined<Record<string, T>>(
      client,
      [setting],
      [{ name, text, values }],
      100,
    );
    return Object.values(rows[0] ?? {})[0] as T;
  });
}

const quickText = "select pg_backend_pid() as pid, $1::integer as n";
const quick = (n = 1) => ask<number>("quick", quickText, [n]);

/** A statement that is classified as quick but takes this many seconds. */
const hold = (seconds: number) =>
  sharedConnections.run("quick", (client) =>
    runPipelined(client, [], [{ text: `select pg_sleep(${seconds})` }], 100),
  );

/** Waits until this many statements have run for 100 ms; before that, others may be queued behind them. */
const areAtIt = (through: pg.Pool | pg.Client, seconds: number, count: number) =>
  waitFor(`${count} to be at it`, async () => {
    const { rows } = await through.query<{ count: number }>(
      `select count(*)::integer as count from pg_stat_activity
       where query = $1 and state = 'active' and query_start < clock_timestamp() - interval '100 ms'`,
      [`select pg_sleep(${seconds})`],
    );
    return rows[0]?.count === count;
  });

/** Runs a statement often enough to be classified as quick or slow. */
async function judged(run: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < 17; n++) await run();
}

const many = <T>(count: number, make: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_none, n) => make(n)));

test("runs fast statements on two connections with the right results", async () => {
  open();
  await judged(quick);
  const pids = new Set(await many(500, quick));
  expect(pids.size).toBeLessThanOrEqual(2);
  const answers = await many(500, (n) => ask<number>("echo", "select $1::integer", [n]));
  expect(answers).toEqual(Array.from({ length: 500 }, (_none, n) => n));
  // An additional connection may still be opening.
  await waitFor("all connections to be given back", () => pool.totalCount === pool.idleCount);
  expect(sharedConnections.waiting()).toBe(0);
});

test("isolates settings and errors of messages on one connection", async () => {
  open();
  const mark = (n: number) =>
    ask<string>(`mark ${n % 3}`, "select current_setting('office.mark') || 10 / $1::integer", [
      n % 10,
    ]);
  await many(3, (n) => mark(n + 1));
  const results = await Promise.allSettled(Array.from({ length: 300 }, (_none, n) => mark(n)));
  results.forEach((result, n) => {
    if (n % 10 === 0)
      expect(result).toMatchObject({ status: "rejected", reason: { code: "22012" } });
    else
      expect(result).toEqual({
        status: "fulfilled",
        value: `mark ${n % 3}${Math.floor(10 / (n % 10))}`,
      });
  });
});

test("prepares a statement again after a failed message", async () => {
  open();
  // At most one statement stays prepared. The delay lasts until the other messages are sent.
  const divide = (name: string, by: number) =>
    sharedConnections.run(name, async (client) => {
      const prelude = [
        { text: "select pg_sleep(0.05)", values: [] },
        { text: "select 1 / $1::integer", values: [String(by)] },
      ];
      const { rows } = await runPipelined(
        client,
        prelude,
        [{ name, text: "select 7 as seven" }],
        1,
      );
      return rows;
    });
  await divide("seven", 1);
  await divide("other", 1);
  const results = await Promise.allSettled([0, 1, 1, 1, 1, 1].map((by) => divide("seven", by)));
  expect(results.map(({ status }) => status)).toEqual([
    "rejected",
    ...Array.from({ length: 5 }, () => "fulfilled"),
  ]);
});

test("prepares a statement again that was closed while pending", async () => {
  open({ max: 1 });
  // More names at once than can stay prepared.
  const one = (n: number) =>
    sharedConnections.run(`given up ${n}`, (client) =>
      runPipelined<{ n: number }>(
        client,
        [],
        [{ name: `given up ${n}`, text: `select ${n} as n` }],
        2,
      ),
    );
  for (let n = 0; n < 4; n++) await one(n);
  for (let round = 0; round < 3; round++)
    expect((await many(4, one)).map(({ rows }) => rows[0]?.n)).toEqual([0, 1, 2, 3]);
});

test("runs slow statements on separate connections", async () => {
  open({}, 5);
  const slow = () => ask("slow", "select pg_sleep(0.4)");
  await judged(quick);
  // A single slow execution does not change the classification.
  await many(8, slow);
  let isOver = false;
  const sleepers = many(5, slow).finally(() => (isOver = true));
  expect(new Set(await many(40, quick)).size).toBeLessThanOrEqual(2);
  expect(isOver).toBe(false);
  await sleepers;
});

test("bypasses connections that a statement blocks", async () => {
  open();
  await judged(quick);
  await many(100, quick);
  let isOver = false;
  const first = hold(31);
  await areAtIt(pool, 31, 1);
  const held = Promise.allSettled([first, hold(31)]).finally(() => (isOver = true));
  await areAtIt(pool, 31, 2);
  await many(100, quick);
  expect(isOver).toBe(false);
  await pool.query(
    "select pg_cancel_backend(pid) from pg_stat_activity where query = 'select pg_sleep(31)' and state = 'active'",
  );
  await held;
});

test("gives a connection to a waiting pool caller under constant load", async () => {
  open({ max: 1 });
  await judged(quick);
  let goesOn = true;
  const busy = many(20, async () => {
    while (goesOn) await quick();
  });
  for (let n = 0; n < 5; n++) {
    const client = await pool.connect();
    await client.query("select 1");
    client.release();
  }
  goesOn = false;
  await busy;
});

test("runs shared statements while pool callers use every connection", async () => {
  open({ max: 3 });
  await judged(quick);
  let goesOn = true;
  const busy = many(12, async () => {
    while (goesOn) {
      const client = await pool.connect();
      await client.query("select pg_sleep(0.001)");
      client.release();
    }
  });
  await waitFor("others to wait", () => pool.waitingCount > 5);
  await many(200, quick);
  goesOn = false;
  await busy;
});

test("fails only the pending messages of a broken connection", async () => {
  open({ max: 1 });
  await judged(quick);
  const held = hold(30);
  held.catch(() => undefined);
  const admin = new pg.Client({ connectionString: testDatabaseUrl });
  await admin.connect();
  await areAtIt(admin, 30, 1);
  const sleeping = Promise.allSettled([held, ...Array.from({ length: 10 }, () => quick())]);
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where query = 'select pg_sleep(30)' and state = 'active'",
  );
  await admin.end();
  const [first, ...later] = await sleeping;
  expect(first).toMatchObject({ status: "rejected", reason: { code: "57P01" } });
  for (const one of later) expect(one.status).toBe("fulfilled");
  expect(pool.totalCount - pool.idleCount).toBe(0);
});

test("uses the existing connections while new ones are refused", async () => {
  open();
  await judged(quick);
  const held = hold(0.3);
  await waitFor("it to have a connection", () => pool.totalCount - pool.idleCount === 1);
  // Closes all other connections and rejects new ones.
  const idle = await Promise.all(Array.from({ length: pool.idleCount }, () => pool.connect()));
  for (const client of idle) client.release(true);
  let refusals = 0;
  pool.connect = (() => {
    refusals++;
    return Promise.reject(new Error("sorry, too many clients already"));
  }) as pg.Pool["connect"];
  expect(await many(8, quick)).toHaveLength(8);
  await held;
  expect(refusals).toBeGreaterThan(0);
  expect(refusals).toBeLessThan(10);
});

test("rejects waiting callers and completes pending messages when the pool ends", async () => {
  open();
  await judged(quick);
  // Opens both shared connections.
  await many(100, quick);
  const blocker = new pg.Client({ connectionString: testDatabaseUrl });
  await blocker.connect();
  await blocker.query("select pg_advisory_lock(1)");
  const held = many(2, () =>
    sharedConnections.run("quick", (client) =>
      runPipelined(client, [], [{ text: "select pg_advisory_xact_lock_shared(1)" }], 100),
    ),
  );
  await waitFor("both to be at it", () => pool.totalCount - pool.idleCount === 2);
  const waiting = Promise.allSettled(Array.from({ length: 20 }, () => quick()));
  const ended = pool.end();
  const late = quick();
  await expect(late).rejects.toThrow("Cannot use a pool after calling end on the pool");
  await blocker.end();
  await held;
  await waiting;
  await ended;
  open();
});

test("rejects all waiting callers with the pool's error", async () => {
  open({ max: 1 });
  // Connects with the default time-out; only the wait for the existing connection is limited.
  (await pool.connect()).release();
  pool.options.connectionTimeoutMillis = 100;
  openLanes();
  await judged(quick);
  const taken = await pool.connect();
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => quick()));
  for (const result of results)
    expect(result).toMatchObject({
      status: "rejected",
      reason: { message: "timeout exceeded when trying to connect" },
    });
  taken.release();
  await quick();
});
