import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { migrate } from "../../src/migration/migrate.ts";
import { poolFor } from "../../src/postgres/pools.ts";
import { makeReplica } from "../../src/postgres/replica.ts";
import { runCommand } from "../helpers/commands/run.ts";
import { type Cluster, startCluster } from "../helpers/cluster.ts";
import { type Proxy, startProxy } from "../helpers/proxy.ts";
import { type Service, startService } from "../helpers/service.ts";
import { type Standby, startStandby } from "../helpers/standby.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { run } from "../helpers/http/testRuns.ts";
import { operationsUrl, scrape, valueOf } from "../helpers/metrics/exposition.ts";

let cluster: Cluster;
let standby: Standby;
let proxy: Proxy;
let first: Service;
let second: Service;
let token: string;
let userId: string;
let campaign: string;

const retitle = `mutation ($id: ID!, $title: String!) { updateCampaign(id: $id, input: { title: $title }) { title } }`;
const titleOf = `query ($id: ID!) { campaign(id: $id) { title } }`;
const totals = `{ products(includeTotalCount: true, first: 1) { totalCount nodes { name } } }`;
const readable = ["campaigns.read", "campaigns.update", "products.read", "users.read"];

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.database.pool.query("create extension pg_stat_statements with schema extensions");
  standby = await startStandby(cluster);
  proxy = await startProxy(standby.url);
  const env = { DATABASE_REPLICA_URL: proxy.url, METRICS_PORT: "0" };
  const { database } = cluster;
  // One with prepared statements, and one in test mode without them.
  [first, second] = await Promise.all([
    startService({ database, env }),
    startService({ database, env: { ...env, ENABLE_E2E_TEST_MODE: "true" } }),
  ]);
  ({ token, userId } = await first.login(readable));
  const { rows } = await database.pool.query<{ id: string }>(
    `with made as (insert into products (erp_product_number, name) values ('1', 'Barolo') returning id)
     insert into campaigns (title, price, author_user_id, medium, scheduled_at)
     select 'New', '9', $1, 'EMAIL', now() from made returning id`,
    [userId],
  );
  campaign = rows[0]!.id;
});
afterAll(async () => {
  await Promise.all([first.stop(), second.stop()]);
  await proxy.stop();
  await standby.drop();
  await cluster.database.drop();
});

/** The number of a server's replica reads with an outcome. */
const reads = async (service: Service, outcome: string) =>
  valueOf(await scrape(operationsUrl(service.output())), "office_replica_reads_total", {
    outcome,
  }) ?? 0;

/** The number of executed statements that contain this text. */
async function calls(database: { pool: Standby["pool"] }, text: string): Promise<number> {
  const { rows } = await database.pool.query<{ calls: number }>(
    "select coalesce(sum(calls), 0)::integer as calls from pg_stat_statements where query like $1",
    [`%${text}%`],
  );
  return rows[0]!.calls;
}

const pause = () => standby.pool.query("select pg_wal_replay_pause()");
/** Resumes the replay; the replay may cancel the statement that resumes it. */
const resume = () =>
  waitFor("the replay to go on", () =>
    standby.pool.query("select pg_wal_replay_resume()").then(
      () => true,
      () => false,
    ),
  );
const ask = async (service: Service, query: string, variables = {}) => {
  const answer = await service.ask(query, { token, variables });
  expect(answer.errors).toBeUndefined();
  return answer.data;
};

/** Repeats a query until the replica has answered; on a busy machine it may lag too much. */
const fromReplica = (service: Service, query: string, variables = {}) =>
  waitFor("the replica to be read", async () => {
    const before = await reads(service, "answered");
    const data = await ask(service, query, variables);
    return (await reads(service, "answered")) > before && data;
  });
const backInUse = (service: Service) => fromReplica(service, titleOf, { id: campaign });

describe("reads on a replica", () => {
  test("are unaudited reads, by the SQL-JSON path and by Grafast", async () => {
    for (const service of [first, second]) {
      expect(await fromReplica(service, titleOf, { id: campaign })).toEqual({
        campaign: { title: "New" },
      });
      expect((await fromReplica(service, totals)).products.totalCount).toBe(1);
    }
    expect(await calls(standby, "campaigns")).toBeGreaterThan(0);
  });

  test("do not include audited reads and mutations", async () => {
    const before = await reads(first, "answered");
    await ask(first, "{ users { email } }");
    await ask(first, "{ campaigns { title author { email } } }");
    await ask(first, "{ products(includeTotalCount: true) { totalCount } users { email } }");
    await ask(first, retitle, { id: campaign, title: "Changed" });
    expect(await reads(first, "answered")).toBe(before);
    expect(await reads(first, "refused")).toBe(0);
    const { rows } = await cluster.database.pool.query(
      "select from audit_log where entity_type = 'User' and operation = 'READ'",
    );
    expect(rows).toHaveLength(3);
  });

  test("see earlier writes at another server, also while the replica lags", async () => {
    const servers = [first, second] as const;
    const counted = await Promise.all(servers.map((server) => reads(server, "answered")));
    for (let n = 0; n < 200; n++) {
      if (n === 60) await pause();
      if (n === 90) {
        await resume();
        await Promise.all(servers.map(backInUse));
      }
      const [writer, reader] = n % 2 === 0 ? servers : servers.toReversed();
      const title = `Title ${n}`;
      await ask(writer, retitle, { id: campaign, title });
      expect(await ask(reader, titleOf, { id: campaign })).toEqual({ campaign: { title } });
    }
    expect(await reads(first, "late")).toBeGreaterThan(0);
    const after = await Promise.all(servers.map((server) => reads(server, "answered")));
    expect(after[0]! - counted[0]! + after[1]! - counted[1]!).toBeGreaterThan(20);
  });

  test("are rejected at once after a revoked permission, a deactivation or a logout that has not reached the replica", async () => {
    await backInUse(first);
    const { pool } = cluster.database;
    const leaver = await first.login(["products.read"]);
    const other = await first.login(["products.read"]);
    const read = async (as = leaver.token) => {
      const { data, errors } = await first.ask(totals, { token: as });
      return data?.products?.totalCount ?? errors?.map(({ message }) => message);
    };
    expect(await read()).toBe(1);
    await pause();
    try {
      await pool.query("delete from role_permissions where role_id = $1", [leaver.roleId]);
      expect(await read()).toEqual(["Missing required permission: products.read"]);
      await pool.query(
        "insert into role_permissions (role_id, permission_id) select $1, id from permissions where key = 'products.read'",
        [leaver.roleId],
      );
      expect(await read()).toBe(1);
      await pool.query("update users set is_active = false where id = $1", [leaver.userId]);
      expect(await read()).toEqual(["The token is unknown or has ended"]);
      expect(await read(other.token)).toBe(1);
      const { errors } = await first.ask("mutation { logout }", { token: other.token });
      expect(errors).toBeUndefined();
      expect(await read(other.token)).toEqual(["The token is unknown or has ended"]);
    } finally {
      await resume();
    }
  });

  test("return the same errors as the primary", async () => {
    await backInUse(first);
    const answer = await first.ask('{ products(query: "nothing:1") { nodes { name } } }', {
      token,
    });
    expect(answer.errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
    const { errors } = await first.ask(`{ campaign(id: "0") { title } }`, { token });
    expect(errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
  });

  test("work in test runs, whose tables are replicated too", async () => {
    await backInUse(second);
    const headers = run("replica");
    const made = await second.ask(
      'mutation { bootstrapFirstUser(email: "a@example.com") { token } }',
      { headers },
    );
    const own = made.data.bootstrapFirstUser.token as string;
    const before = await reads(second, "answered");
    const { data } = await second.ask(totals, { token: own, headers });
    expect(data.products.totalCount).toBe(0);
    expect(await reads(second, "answered")).toBeGreaterThan(before);
    expect((await second.ask("mutation { cleanupTestRun }", { headers })).errors).toBeUndefined();
  });

  test("run on the primary while the replica is silent or down, which the health page shows", async () => {
    await backInUse(first);
    proxy.blackHole();
    const started = performance.now();
    expect((await ask(first, totals)).products.totalCount).toBe(1);
    expect(performance.now() - started).toBeLessThan(20_000);
    await proxy.restore();
    await standby.stopImmediately();
    for (let n = 0; n < 20; n++)
      expect((await ask(first, titleOf, { id: campaign })).campaign.title).toBe("Title 199");
    expect(await reads(first, "away")).toBeGreaterThan(0);
    const page = await fetch(`${operationsUrl(first.output())}/health`);
    const health = (await page.json()) as { status: string; systems: { name: string }[] };
    expect([page.status, health.status]).toEqual([200, "degraded"]);
    expect(health.systems).toContainEqual(
      expect.objectContaining({ name: "replica", state: "down" }),
    );
    await standby.start();
    await backInUse(first);
    const samples = await scrape(operationsUrl(first.output()));
    expect(valueOf(samples, "office_replica_lag_bytes")).toBeGreaterThanOrEqual(0);
    expect(valueOf(samples, "office_pool_connections", { pool: "replica", state: "most" })).toBe(
      10,
    );
  });
});

describe("the replica pool", () => {
  const settings = { role: "office_api", search_path: "backoffice, extensions, pg_temp" };
  const markNow = async () => {
    const { rows } = await cluster.database.pool.query<{ mark: string }>(
      "select write_mark() as mark",
    );
    return rows[0]!.mark;
  };
  const withReplica = async <T>(
    work: (replica: ReturnType<typeof makeReplica>) => Promise<T>,
    statementTimeoutMs: number,
  ) => {
    const pool = poolFor(standby.url, "office_server", 2, { responseTimeoutMs: 60_000 });
    try {
      return await work(makeReplica(pool, { prepared: 0, waitMs: 2_000, statementTimeoutMs }));
    } finally {
      await pool.end();
    }
  };
  const readAt = async (replica: ReturnType<typeof makeReplica>, text: string, timeout: string) =>
    replica.read({
      mark: await markNow(),
      tenant: "backoffice",
      settings: { ...settings, statement_timeout: timeout },
      statement: { text },
    });

  test("returns null for a read that the replica cancels because of a recovery conflict", async () => {
    await withReplica(async (replica) => {
      const read = readAt(replica, "select count(*), pg_sleep(20) from campaigns", "30000");
      await waitFor("the read to hold its locks", async () => {
        const { rows } = await standby.pool.query(
          "select from pg_stat_activity where wait_event = 'PgSleep' and query like '%pg_sleep(20)%'",
        );
        return rows.length > 0;
      });
      await cluster.database.pool.query(
        "begin; lock table campaigns in access exclusive mode; commit",
      );
      expect(await read).toBeNull();
      expect(replica.counts()).toEqual({ answered: 0, late: 0, away: 0, refused: 1 });
      expect(replica.circuit()).toBe("closed");
    }, 30_000);
  });

  test("throws for a timed out read, writes nothing, and detects a mark of another database", async () => {
    await withReplica(async (replica) => {
      await expect(readAt(replica, "select pg_sleep(20)", "100")).rejects.toMatchObject({
        code: "57014",
      });
      expect(await readAt(replica, "delete from campaigns", "100")).toBeNull();
      expect(replica.counts()).toEqual({ answered: 0, late: 0, away: 0, refused: 1 });
      const mark = (await markNow()).replace(/^\d+/, "1");
      const statement = { text: "select 1" };
      expect(await replica.read({ mark, tenant: "backoffice", settings, statement })).toBeNull();
      expect(replica.counts().away).toBe(1);
    }, 100);
  });

  test("is checked by npm run doctor", async () => {
    const doctor = (url: string) =>
      runCommand("src/commands/doctor.ts", [], {
        DATABASE_URL: cluster.database.url,
        DATABASE_REPLICA_URL: url,
      });
    const [well, itself] = await Promise.all([doctor(standby.url), doctor(cluster.database.url)]);
    expect(well.output).toMatch(/^ok +DATABASE_REPLICA_URL: is a replica of DATABASE_URL/m);
    expect(well.code).toBe(0);
    expect(itself.output).toMatch(/^WRONG +DATABASE_REPLICA_URL: /m);
    expect(itself.code).toBe(1);
  });

  test("supports npm run keys:rotate -- database: running servers keep the first logins until these are ended", async () => {
    const { database } = cluster;
    const { pool, url } = database;
    const folder = await mkdtemp(join(tmpdir(), "keys-"));
    const as = (login: string, address: string) => {
      const changed = new URL(address);
      changed.username = login;
      changed.password = "for the first time";
      return changed.href;
    };
    const logsIn = async (address: string) => {
      const client = new pg.Client({ connectionString: address });
      try {
        await client.connect();
        const { rows } = await client.query<{ who: string }>(
          "select current_user || ' by ' || session_user as who",
        );
        return rows[0]?.who;
      } catch (error) {
        return (error as { code?: string }).code;
      } finally {
        await client.end();
      }
    };
    const env = {
      DATABASE_URL: as("office_server", url),
      DATABASE_REPLICA_URL: as("office_server", standby.url),
      DATABASE_WORKER_URL: as("office_worker", url),
      DATABASE_OWNER_URL: url,
    };
    const migrateWith = (named: typeof env) =>
      migrate(
        {
          ...{ ownerUrl: url, tenant: "backoffice" },
          loginUrls: [named.DATABASE_URL, named.DATABASE_WORKER_URL],
        },
        () => {},
      );
    const rotate = (named: typeof env, ...words: string[]) =>
      runCommand("src/commands/rotateKeys.ts", ["database", ...words], named);
    const made = async (file: string): Promise<typeof env> => {
      const lines = (await readFile(file, "utf8")).trim().split("\n");
      return { ...env, ...Object.fromEntries(lines.map((line) => line.split(/=(.*)/s))) };
    };
    const serverWith = (named: typeof env) =>
      startService({
        database: { ...database, url: named.DATABASE_URL },
        env: { DATABASE_REPLICA_URL: named.DATABASE_REPLICA_URL },
      });
    let server: Service | undefined;
    try {
      await migrateWith(env);
      expect(await logsIn(env.DATABASE_URL)).toBe("office_server by office_server");
      server = await serverWith(env);
      const file = join(folder, "urls");
      const { code, output } = await rotate(env, "--write", file);
      const second = await made(file);
      expect([code, (await stat(file)).mode & 0o777]).toEqual([0, 0o600]);
      expect(output).not.toContain(new URL(second.DATABASE_URL).password);
      expect(await logsIn(second.DATABASE_URL)).toBe("office_server by office_server_a");
      expect(await logsIn(second.DATABASE_WORKER_URL)).toBe("office_worker by office_worker_a");
      await waitFor(
        "the replica to know",
        async () =>
          (await logsIn(second.DATABASE_REPLICA_URL)) === "office_server by office_server_a",
      );

      // From now on all connections are new.
      await pool.query(
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = 'office_server'",
      );
      await ask(server, retitle, { id: campaign, title: "After the rotation" });
      const early = await rotate(second, "--finish");
      expect(early.code).toBe(2);
      expect(early.output).toMatch(/office_server has \d+ connections/);
      await server.stop();
      server = await serverWith(second);
      expect((await ask(server, titleOf, { id: campaign })).campaign.title).toBe(
        "After the rotation",
      );
      // The settings of before would end the new logins, of which none has a connection after this.
      await server.stop();
      expect(await rotate(env, "--finish")).toEqual({
        code: 2,
        output:
          "office_server_a and office_worker_a replaced a login of these settings: run the command with all settings that keys:rotate wrote\n",
      });
      const mixed = { ...second, DATABASE_URL: env.DATABASE_URL, DATABASE_REPLICA_URL: "" };
      expect((await rotate(mixed, "--finish")).output).toMatch(/^office_server_a replaced a login/);
      expect(await rotate(second, "--finish")).toMatchObject({ code: 0 });
      expect(await logsIn(env.DATABASE_URL)).toBe("28P01");
      expect(await logsIn(env.DATABASE_WORKER_URL)).toBe("28P01");

      await expect(migrateWith(env)).rejects.toThrow(
        "A rotation has replaced office_server by office_server_a and ended it",
      );

      // The next rotation uses the other login of the pair, after the first was disabled.
      const next = join(folder, "next");
      expect(await rotate(second, "--write", next)).toMatchObject({ code: 0 });
      const third = await made(next);
      await migrateWith(third);
      expect(await logsIn(third.DATABASE_URL)).toBe("office_server by office_server_b");
      expect(await rotate(third, "--write", join(folder, "third"))).toMatchObject({
        code: 2,
        output: expect.stringContaining("office_server_a can log in as well"),
      });
      const { rows } = await pool.query<{ query: string }>(
        "select query from pg_stat_statements where query ilike '%alter role%'",
      );
      const said = JSON.stringify(rows);
      expect(said).toContain("SCRAM-SHA-256$");
      for (const { password } of [env, second, third].map((one) => new URL(one.DATABASE_URL)))
        expect(said).not.toContain(password);
      expect((await pool.query("select v from schema_violations() v")).rows).toEqual([]);
    } finally {
      await server?.stop();
      await rm(folder, { recursive: true });
    }
  });

  test("is not used after the replica becomes a primary", async () => {
    await backInUse(first);
    const before = await reads(first, "answered");
    await standby.promote();
    await ask(first, retitle, { id: campaign, title: "After" });
    for (let n = 0; n < 10; n++)
      expect((await ask(first, titleOf, { id: campaign })).campaign.title).toBe("After");
    expect(await reads(first, "answered")).toBe(before);
  });
});
