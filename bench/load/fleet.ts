import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { migrate } from "../../src/migration/migrate.ts";
import { hashToken, makeToken } from "../../src/auth/tokens.ts";
import { startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { nodeFlags } from "../../src/process/heap.ts";
import { freePort } from "../../test/helpers/http.ts";
import { cpuSecondsOfPostgres } from "../compare/processes.ts";
import { fill, fullSize, type Size } from "../compare/dataSet.ts";
import { type Delay, delaysIn } from "./delays.ts";
import { toDelayMs } from "./eventLoopDelay.ts";

const root = join(import.meta.dirname, "../..");

/** The whole service, started by `npm start`, on a full database. */
export interface Fleet {
  url: string;
  token: string;
  size: Size;
  pool: pg.Pool;
  /** The server's metrics: event-loop delay since the last read in milliseconds, memory in MB, rejected requests so far. */
  look(): Promise<Figures>;
  /** The server's event-loop delays of more than ten milliseconds. */
  delays(): Promise<Delay[]>;
  /** Sends a request as a user with all permissions. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  ask(query: string, variables?: object): Promise<any>;
  stop(): Promise<void>;
}

interface Figures {
  eventLoop: { p99: number; most: number };
  memory: number;
  /** CPU time of the server and of the database so far, in seconds. */
  cpu: number;
  databaseCpu: number;
  refused: number;
}

/** Starts database, emulators, server and worker, and waits until the search engine is up to date. */
export async function startFleet(scale: number, env: Record<string, string> = {}): Promise<Fleet> {
  const size = Object.fromEntries(
    Object.entries(fullSize).map(([kind, count]) => [kind, Math.ceil(count * scale)]),
  ) as unknown as Size;
  size.users = fullSize.users;
  size.roles = fullSize.roles;
  const folder = await mkdtemp(join(tmpdir(), "load-bench-"));
  const database = await startLocalPostgres({
    dataDir: join(folder, "postgres"),
    log: () => {},
    ephemeral: true,
    postgresFlags: ["-c", "shared_buffers=1GB"],
  });
  const pool = new pg.Pool({
    connectionString: database.url,
    options: "-c search_path=backoffice,extensions,pg_temp",
  });
  pool.on("error", () => undefined);
  let child: ChildProcess | undefined;
  const stop = async () => {
    if (child?.exitCode === null) {
      const ended = new Promise((resolve) => child?.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    }
    await pool.end();
    await database.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await migrate({ ownerUrl: database.url, tenant: "backoffice" }, () => {});
    const client = await pool.connect();
    await fill(client, size);
    // Otherwise the first import would start at once, during the measurements.
    await client.query(
      "update erp_schedule set next_at = now() + interval '1 day' where what = 'import'",
    );
    await sealAuditLog(client);
    client.release();
    const token = await openSession(pool);
    const [port, metricsPort] = [await freePort(), await freePort()];
    const delaysFile = join(folder, "delays");
    const started = performance.now();
    child = spawn(
      process.execPath,
      [...nodeFlags, "dev/start.ts", `--erp-orders=${Math.ceil(20_000 * scale)}`],
      {
        cwd: root,
        stdio: ["ignore", "pipe", "inherit"],
        env: {
          PATH: process.env["PATH"],
          GRAPHILE_ENV: "production",
          DATA_DIR: folder,
          PORT: String(port),
          METRICS_PORT: String(metricsPort),
          DATABASE_URL: database.url,
          LOG_LEVEL: "warn",
          REQUESTS_PER_MINUTE: "off",
          COST_PER_MINUTE: "off",
          EXPORT_MAX_PRODUCTS: "1000000",
          NODE_OPTIONS: `--import=${join(import.meta.dirname, "delays.ts")}`,
          LOAD_DELAYS_FILE: delaysFile,
          ...env,
        },
      },
    );
    await ready(child);
    console.log(
      `the whole service was there after ${((performance.now() - started) / 1000).toFixed(1)} s`,
    );
    const url = `http://127.0.0.1:${port}`;
    const fleet: Fleet = {
      url,
      token,
      size,
      pool,
      async look() {
        const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
        const of = (pattern: string) => {
          const figure = Number(new RegExp(`^${pattern} ([\\d.e+-]+)`, "m").exec(text)?.[1]);
          // The server selects another port when its own is in use.
          if (Number.isNaN(figure))
            throw new Error(
              `no ${pattern} at port ${metricsPort}, which others may have: run it again`,
            );
          return figure;
        };
        const refused = of('office_requests_refused_total{reason="full"}');
        return {
          eventLoop: {
            p99: toDelayMs(of("nodejs_eventloop_lag_p99_seconds") * 1000),
            most: toDelayMs(of("nodejs_eventloop_lag_max_seconds") * 1000),
          },
          memory: of("process_resident_memory_bytes") / 1024 / 1024,
          cpu: of("process_cpu_seconds_total"),
          databaseCpu: cpuSecondsOfPostgres(database.pid),
          refused: refused + of('office_requests_refused_total{reason="waited"}'),
        };
      },
      delays: async () => delaysIn(await readFile(delaysFile, "utf8")),
      async ask(query, variables = {}) {
        const response = await fetch(`${url}/graphql`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json",
            authorization: `Bearer ${token}`,
          },
          body: JSON.stringify({ query, variables }),
        });
        const answer = (await response.json()) as { data?: unknown; errors?: unknown };
        assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
        return answer.data;
      },
      stop,
    };
    await fleet.look();
    await waitForSearchIndex(fleet);
    return fleet;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Waits until `npm start` reports that it runs. */
function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes("The back office is running")) resolve();
    });
    child.once("exit", (code) => reject(new Error(`it ended with ${code}:\n${output}`)));
  });
}

/** Creates a session of a user with all permissions, without a login. */
async function openSession(pool: pg.Pool): Promise<string> {
  const token = makeToken("session");
  await pool.query(
    `with u as (insert into users (email, name, is_active) values ($1, 'Load', true) returning id),
       r as (insert into roles (name) values ($1) returning id),
       p as (insert into role_permissions (role_id, permission_id) select r.id, permissions.id from r, permissions),
       ur as (insert into user_roles (user_id, role_id) select u.id, r.id from u, r)
     insert into sessions (user_id, token_hash, idle_expires_at, expires_at)
     select u.id, $2, now() + interval '1 day', now() + interval '1 day' from u`,
    [`load-${randomUUID()}@example.com`, hashToken(token)],
  );
  return token;
}

/** The engine's initial import is not part of an ordinary day's load. */
async function waitForSearchIndex(fleet: Fleet): Promise<void> {
  const started = performance.now();
  for (;;) {
    const { searchStatus } = (await fleet.ask(
      "{ searchStatus { enabled isBuilding waiting error } }",
    )) as { searchStatus: { enabled: boolean; isBuilding: boolean; waiting: number }[] };
    const isLevel = (one: (typeof searchStatus)[number]) =>
      one.enabled && !one.isBuilding && one.waiting === 0;
    if (searchStatus.every(isLevel)) break;
    await setTimeout(500);
  }
  console.log(
    `the search engine had all rows ${((performance.now() - started) / 1000).toFixed(1)} s later`,
  );
}

/** A million new audit rows would be sealed during the first phases, which is not part of an ordinary day's load. */
async function sealAuditLog(client: pg.ClientBase): Promise<void> {
  // The first round only marks existing rows; the second seals up to that mark.
  for (let round = 0, isFull = true; round < 2 || isFull; round++) {
    const { rows } = await client.query<{ is_full: boolean }>(
      "select is_full from seal_audit_log('0 seconds')",
    );
    isFull = rows.some((row) => row.is_full);
  }
}
