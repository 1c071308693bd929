import { once } from "node:events";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { from, to } from "pg-copy-streams";
import Cursor from "pg-cursor";
import { openClient, poolFor } from "../../src/postgres/pools.ts";
import { createDatabase, type TestDatabase } from "../helpers/database.ts";
import { timed } from "../helpers/http.ts";
import { type Proxy, startProxy } from "../helpers/proxy.ts";
import { waitFor } from "../helpers/waitFor.ts";

const responseTimeoutMs = 300;
// A margin for closing the connection and for other load on the machine.
const mostMs = responseTimeoutMs + 20_000;
const silence = `The database gave no answer for ${responseTimeoutMs} ms`;

let database: TestDatabase;
let proxy: Proxy;
let client: pg.Client;

beforeAll(async () => {
  database = await createDatabase();
  proxy = await startProxy(database.url);
});
afterAll(async () => {
  await proxy.stop();
  await database.drop();
});
beforeEach(async () => {
  client = await openClient(proxy.url, responseTimeoutMs);
});
afterEach(async () => {
  await proxy.restore();
  await client.end().catch(() => undefined);
});

const rows = "select n, repeat('x', 1000) from generate_series(1, 100000) as n";

/** Each way to use a connection: runs before the silence and returns what waits during it. */
const uses: Record<string, () => Promise<() => Promise<unknown>>> = {
  "a statement": async () => {
    await client.query("select 1");
    return () => client.query("select 2");
  },
  "a transaction's commit": async () => {
    await client.query("begin");
    return () => client.query("commit");
  },
  "a cursor between two reads": async () => {
    const cursor = client.query(new Cursor<unknown>(rows));
    await cursor.read(10);
    return () => cursor.read(10);
  },
  "rows that are copied out": async () => {
    const stream = client.query(to(`copy (${rows}) to stdout`));
    await once(stream, "readable");
    return () => pipeline(stream, new Writable({ write: (_chunk, _encoding, done) => done() }));
  },
  "rows that are copied in": async () => {
    await client.query("create temp table copied (n integer)");
    const stream = client.query(from("copy copied from stdin"));
    await new Promise<void>((resolve) => stream.write("1\n", () => resolve()));
    return async () => {
      stream.end();
      await once(stream, "finish");
    };
  },
  "a connection that listens": async () => {
    await client.query("listen something");
    return () => client.query("select 3");
  },
};

describe("an unresponsive database", () => {
  test.each(Object.entries(uses))("destroys the connection of %s in time", async (_name, begin) => {
    const go = await begin();
    proxy.blackHole();
    const { ms, result } = await timed(() => go().catch((error: unknown) => error));
    expect(String(result)).toMatch(/gave no answer|Connection terminated/);
    expect(ms).toBeLessThan(mostMs);
    await expect(client.query("select 1")).rejects.toThrow();
  });

  /** Runs `work` while the server process of a connection is stopped; it accepts data and closes nothing. */
  async function whileStopped(user: pg.Client | pg.Pool, work: () => Promise<unknown>) {
    const { rows } = await user.query<{ pid: number }>("select pg_backend_pid() as pid");
    const pid = rows[0]!.pid;
    process.kill(pid, "SIGSTOP");
    try {
      return await timed(work);
    } finally {
      process.kill(pid, "SIGCONT");
    }
  }

  test("does not keep a closed connection", async () => {
    const direct = await openClient(database.url, responseTimeoutMs);
    const { ms } = await whileStopped(direct, () => direct.end());
    expect(ms).toBeLessThan(mostMs);
  });

  test("does not keep a pool with closed connections", async () => {
    const pool = poolFor(database.url, "office_worker", 1, { responseTimeoutMs });
    const { ms } = await whileStopped(pool, async () => {
      const closed = once(pool, "remove");
      await pool.end();
      await closed;
    });
    expect(ms).toBeLessThan(mostMs);
  });

  test("gives the pool's next caller another connection", async () => {
    const pool = poolFor(proxy.url, "office_worker", 1, { responseTimeoutMs });
    const pid = async () =>
      (await pool.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid;
    const first = await pid();
    proxy.blackHole();
    await expect(pid()).rejects.toThrow(silence);
    await proxy.restore();
    expect(await pid()).not.toBe(first);
    await pool.end();
  });

  test("keeps an idle connection", async () => {
    const end = performance.now() + 3 * responseTimeoutMs;
    await waitFor("some time", () => performance.now() > end);
    expect((await client.query<{ one: number }>("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });
});
