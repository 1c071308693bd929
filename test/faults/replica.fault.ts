import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { mainSchemaPool } from "../helpers/database.ts";
import { startCluster } from "../helpers/cluster.ts";
import { type Proxy, startProxy } from "../helpers/proxy.ts";
import { askAt } from "../helpers/service.ts";
import { type Standby, startStandby } from "../helpers/standby.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { operationsUrl, scrape, valueOf } from "../helpers/metrics/exposition.ts";
import type { Ledger } from "../helpers/faults/ledger.ts";
import { type World, startWorld, underLedger } from "../helpers/faults/world.ts";

// A primary with two standbys and a read replica; at least one standby has each change before it is acknowledged.
// Servers and workers use two addresses, which a proxy routes to the current servers.
jest.setTimeout(400_000);

let standbys: [Standby, Standby];
/** Proxies for the primary and for the standby that is read. */
let front: Proxy;
let reads: Proxy;
let world: World;

/** A change is acknowledged when the primary and one standby have stored it. */
const safeAtOne = "alter system set synchronous_standby_names = 'ANY 1 (*)'";

beforeAll(async () => {
  const cluster = await startCluster();
  const { pool } = cluster.database;
  standbys = [await startStandby(cluster), await startStandby(cluster)];
  await pool.query(safeAtOne);
  await pool.query("select pg_reload_conf()");
  front = await startProxy(cluster.database.url);
  reads = await startProxy(standbys[0].url);
  const atFront = mainSchemaPool(front.url, 5);
  world = await startWorld({
    cluster: {
      ...cluster,
      database: {
        url: front.url,
        pool: atFront,
        async drop() {
          await atFront.end();
          await Promise.all([front.stop(), reads.stop()]);
          await Promise.all(standbys.map((standby) => standby.drop()));
          await cluster.database.drop();
        },
      },
    },
    env: { DATABASE_REPLICA_URL: reads.url },
  });
}, 180_000);
afterAll(async () => {
  await world?.fleet.stop();
}, 120_000);

/** The number of reads that the replica answered for all servers. */
async function answered(): Promise<number> {
  const counts = await Promise.all(
    world.fleet.servers.map(async (server) => {
      const samples = await scrape(operationsUrl(server.output()));
      return valueOf(samples, "office_replica_reads_total", { outcome: "answered" }) ?? 0;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Waits until the replica has answered this many more reads. */
async function answersMore(count: number): Promise<void> {
  const before = await answered();
  await waitFor("the replica to be read", async () => (await answered()) - before >= count, 60_000);
}

/** Clients that change their own campaign and read it back at once. Each change is sent until it is acknowledged. */
function startWatchers(count: number) {
  const { fleet, staff } = world;
  const stale: string[] = [];
  const failures: string[] = [];
  let seen = 0;
  let stopping = false;
  /** Repeated while the service asks for a retry or does not respond. */
  const until = async (document: string, variables: Record<string, unknown>) => {
    for (;;) {
      const answer = await askAt(fleet.url, document, { token: staff.token, variables }).catch(
        (error: unknown) => ({ status: 0, data: null, errors: String(error) }),
      );
      const failure = `${answer.status} ${JSON.stringify(answer.errors)}`;
      if (answer.status === 200 && answer.errors === undefined) return answer.data;
      if (answer.status !== 503 && answer.status !== 0) throw new Error(`${document}: ${failure}`);
      failures.push(failure);
      await delay(50);
    }
  };
  const watch = async (who: number) => {
    const { createCampaign } = await until(
      `mutation ($author: ID!, $title: String!) {
        createCampaign(input: { authorUserId: $author, title: $title, price: "1", medium: EMAIL, scheduledAt: "2099-10-01T08:00:00Z" }) { id } }`,
      { author: staff.userId, title: `watched ${who}` },
    );
    const { id } = createCampaign as { id: string };
    for (let n = 0; !stopping; n++) {
      const title = `watched ${who} ${n}`;
      await until(
        "mutation ($id: ID!, $title: String!) { updateCampaign(id: $id, input: { title: $title }) { id } }",
        { id, title },
      );
      const { campaign } = await until("query ($id: ID!) { campaign(id: $id) { title } }", { id });
      if (campaign?.title !== title) stale.push(`${title}: ${JSON.stringify(campaign)}`);
      seen++;
      await delay(20);
    }
  };
  const running = Promise.all(Array.from({ length: count }, (_, who) => watch(who)));
  // The error is reported when the clients are stopped.
  running.catch(() => undefined);
  return {
    stale,
    failures,
    seen: () => seen,
    async stop() {
      stopping = true;
      await running;
    },
  };
}

/** Runs `work` under the ledger and with clients that check for stale reads. */
async function underWatch(
  work: (ledger: Ledger, watchers: ReturnType<typeof startWatchers>) => Promise<void>,
): Promise<void> {
  await underLedger(world, async (ledger) => {
    const watchers = startWatchers(3);
    try {
      await answersMore(20);
      await work(ledger, watchers);
      await answersMore(20);
    } finally {
      await watchers.stop();
    }
    expect(watchers.stale).toEqual([]);
    expect(watchers.seen()).toBeGreaterThan(100);
    process.stdout.write(
      `${watchers.seen()} own changes seen, ${ledger.acknowledged()} of the ledger\n`,
    );
  });
}

test("a replica that lags, hangs or dies under load affects no client and returns no stale data", async () => {
  const [replica] = standbys;
  await underWatch(async (ledger, watchers) => {
    const replay = (what: "pause" | "resume") =>
      waitFor(`the replay to ${what}`, () =>
        replica.pool.query(`select pg_wal_replay_${what}()`).then(
          () => true,
          () => false,
        ),
      );
    await replay("pause");
    await ledger.waitForMore(40);
    await replay("resume");
    await answersMore(20);
    for (const wrong of ["blackHole", "cut"] as const) {
      await reads[wrong]();
      await ledger.waitForMore(40);
      await reads.restore();
      await answersMore(20);
    }
    await replica.stopImmediately();
    await ledger.waitForMore(40);
    await replica.start();
    await answersMore(20);
    expect(watchers.failures).toEqual([]);
    expect(ledger.tries.filter(({ outcome }) => outcome !== "ok")).toEqual([]);
  });
});

test("a failover to a standby loses no acknowledged write, and reads become fresh again", async () => {
  const { fleet } = world;
  await underWatch(async (ledger) => {
    await fleet.cluster?.stopImmediately();
    const gone = Date.now();
    await waitFor("it to be noticed", () => ledger.tries.at(-1)?.outcome === "503");

    // A failover as an operator performs it: the most advanced standby has all acknowledged changes, and the other
    // follows it.
    const received = await Promise.all(
      standbys.map(async ({ pool }) => {
        const { rows } = await pool.query<{ place: string }>(
          "select greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'::pg_lsn as place",
        );
        return BigInt(rows[0]?.place ?? 0);
      }),
    );
    const [a, b] = standbys;
    const [primary, replica] = (received[0] ?? 0n) > (received[1] ?? 0n) ? [a, b] : [b, a];
    await primary.promote();
    front.redirectTo(primary.url);
    const turned = Date.now();
    await replica.follow(primary.url);
    reads.redirectTo(replica.url);
    await waitFor("the other one to follow", async () => {
      const { rows } = await primary.pool.query(
        "select from pg_stat_replication where state = 'streaming'",
      );
      return rows.length > 0;
    });
    await primary.pool.query(safeAtOne);
    await primary.pool.query("select pg_reload_conf()");

    await ledger.waitForMore(1);
    const first = ledger.tries.find(({ at, outcome }) => at > gone && outcome === "ok");
    const away = ledger.tries.filter(({ at, outcome }) => at > gone && outcome !== "ok");
    expect(new Set(away.map(({ outcome }) => outcome))).toEqual(new Set(["503"]));
    const lost = await fleet.database.pool.query("select pg_is_in_recovery() as standby");
    expect(lost.rows).toEqual([{ standby: false }]);
    // The replica reports its timeline at its next restartpoint; the checkpoint avoids the wait.
    await primary.pool.query("checkpoint");
    await waitFor("the replica to be read again", async () => {
      await replica.pool.query("checkpoint");
      const before = await answered();
      await delay(500);
      return (await answered()) > before + 5;
    });
    const readAgain = Date.now();
    process.stdout.write(
      `away ${turned - gone} ms; first success ${(first?.at ?? NaN) - turned} ms after the address led to the new primary, replica read again ${readAgain - turned} ms after it\n`,
    );
    expect((first?.at ?? Infinity) - turned).toBeLessThan(5_000);
    await ledger.waitForMore(60);
  });
  expect((await fleet.database.pool.query("select v from schema_violations() v")).rows).toEqual([]);
});
