import pg from "pg";
import { afterEach, expect, test } from "@jest/globals";
import { type Lanes, makeLanes } from "../../src/postgres/lanes.ts";
import { runSettled } from "../../src/postgres/requestClient.ts";
import { testDatabaseUrl } from "../helpers/environment.ts";
import { waitFor } from "../helpers/waitFor.ts";

let pool: pg.Pool;
let lanes: Lanes;

function open(settings: pg.PoolConfig = {}): void {
  pool = new pg.Pool({
    connectionString: testDatabaseUrl,
    max: 10,
    connectionTimeoutMillis: 5_000,
    pipeline: true,
    ...settings,
  });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  // However much else this machine has to do.
  lanes = makeLanes(pool, { quickMs: 5, slowMs: 60 });
}
afterEach(() => pool.end());

/** One message, as requests send it; the statement's first value. */
function ask<T>(name: string, text: string, values: unknown[] = []): Promise<T> {
  return lanes.run(name, async (client) => {
    const setting = { text: "select set_config('office.mark', $1, true)", values: [name] };
    const { rows } = await runSettled<Record<string, T>>(
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

/** Has a statement found out to be quick or slow, as the case may be: it runs as often as it takes. */
async function judged(run: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < 17; n++) await run();
}

const many = <T>(count: number, make: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_none, n) => make(n)));

test("What is quick shares two connections, and everyone has their own answer", async () => {
  open();
  await judged(quick);
  const pids = new Set(await many(500, quick));
  expect(pids.size).toBeLessThanOrEqual(2);
  const answers = await many(500, (n) => ask<number>("echo", "select $1::integer", [n]));
  expect(answers).toEqual(Array.from({ length: 500 }, (_none, n) => n));
  expect(pool.totalCount - pool.idleCount).toBe(0);
  expect(lanes.waiting()).toBe(0);
});

test("Each is a transaction of its own: settings of one are not seen by the next, and what fails fails alone", async () => {
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

test("What is sent after a message that fails does not count on what that one was to prepare", async () => {
  open();
  // One statement at most stays prepared. The first part lasts until the others have been sent.
  const divide = (name: string, by: number) =>
    lanes.run(name, async (client) => {
      const ahead = [
        { text: "select pg_sleep(0.05)", values: [] },
        { text: "select 1 / $1::integer", values: [String(by)] },
      ];
      const { rows } = await runSettled(client, ahead, [{ name, text: "select 7 as seven" }], 1);
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

test("What takes long goes alone, and keeps nobody waiting", async () => {
  open();
  const slow = () => ask("slow", "select pg_sleep(0.4)");
  await judged(quick);
  // One may take long, whatever the reason.
  await many(8, slow);
  let isOver = false;
  const sleepers = many(5, slow).finally(() => (isOver = true));
  expect(new Set(await many(40, quick)).size).toBeLessThanOrEqual(2);
  expect(isOver).toBe(false);
  await sleepers;
});

test("Where what used to be quick holds both connections up, the others go round it", async () => {
  open();
  const sometimes = (seconds: number) => ask("sometimes", "select pg_sleep($1::float8)", [seconds]);
  await judged(quick);
  await judged(() => sometimes(0));
  let isOver = false;
  const held = many(2, () => sometimes(2)).finally(() => (isOver = true));
  await waitFor("both to be at it", async () => {
    const { rows } = await pool.query<{ count: number }>(
      // So long that nobody is sent after them.
      `select count(*)::integer as count from pg_stat_activity
       where query like 'select pg_sleep%' and state = 'active' and query_start < clock_timestamp() - interval '100 ms'`,
    );
    return rows[0]?.count === 2;
  });
  await many(100, quick);
  expect(isOver).toBe(false);
  await held;
});

test("Who waits for a connection of the pool gets one while the lanes are never empty", async () => {
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

test("Those in lanes have their turns while others never leave a connection idle", async () => {
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

test("A connection that breaks fails what was sent over it, and nothing after that", async () => {
  open();
  await judged(quick);
  const [pid = 0] = await many(1, quick);
  const running = Promise.allSettled(
    Array.from({ length: 200 }, async (_none, n) => {
      if (n === 20) await pool.query("select pg_terminate_backend($1)", [pid]);
      return quick();
    }),
  );
  const failed = (await running).filter(({ status }) => status === "rejected");
  // As many as are under way on one, and who asked to end it, by a connection of the same pool.
  expect(failed.length).toBeLessThanOrEqual(5);
  expect(await many(50, quick)).not.toContain(pid);
  expect(pool.totalCount - pool.idleCount).toBe(0);
});

test("Where no connection is to be had, all who wait are told what the pool says", async () => {
  open({ max: 1, connectionTimeoutMillis: 100 });
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
