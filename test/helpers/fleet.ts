import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { ConstantOverrides } from "../../src/settings/constants.ts";
import type { ReadyMessage } from "../../src/process/lifecycle.ts";
import { supervise } from "../../dev/supervise.ts";
import type { Balancer } from "./balancer.ts";
import { startBalancer } from "./balancer.ts";
import type { Cluster } from "./cluster.ts";
import { startCluster } from "./cluster.ts";
import type { TestDatabase } from "./database.ts";
import { createDatabase } from "./database.ts";
import { compileCache, programPath } from "./environment.ts";
import { makeMemoryGroup } from "./memoryGroup.ts";
import type { ExternalSystems } from "./externalSystems.ts";
import { startExternalSystems } from "./externalSystems.ts";
import type { Pooler } from "./pooler.ts";
import { startPooler } from "./pooler.ts";
import type { Proxy } from "./proxy.ts";
import { startProxy } from "./proxy.ts";
import { waitFor } from "./waitFor.ts";

const root = join(import.meta.dirname, "../..");
const quickRestarts = { firstDelayMs: 100, longestDelayMs: 1_000, forgetAfterMs: 2_000 };

/** One process of the fleet; its supervisor restarts it after each exit. */
export interface Member {
  name: string;
  /** The id of the running process. */
  pid(): number | undefined;
  /** The server's URL while it runs. */
  url(): string | undefined;
  /** The output of all processes of this member. */
  output(): string;
  /** The number of starts. */
  starts(): number;
  /** The exit code or signal of each exit, and the milliseconds since the last `signal` or `restart`. */
  ends(): readonly { how: string; ms: number }[];
  signal(name: NodeJS.Signals): void;
  /** Waits until the process is ready after at least this many starts. */
  ready(starts?: number): Promise<void>;
  /** Drains and restarts it, as a deployment does; `settings` override its environment. */
  restart(settings?: Readonly<Record<string, string>>): Promise<void>;
  /** Fetches the health page for operators. */
  health(): Promise<FleetHealth>;
}

/** The health page of a process. */
export interface FleetHealth {
  status: string;
  systems: { name: string; state: string; circuit?: string }[];
}

/** Servers and workers behind a load balancer, with one database and a proxy before each external system. */
export interface Fleet {
  /** The load balancer's URL. */
  url: string;
  servers: Member[];
  workers: Member[];
  /** Superuser access that bypasses the proxy. */
  database: TestDatabase;
  /** The PostgreSQL server, if the fleet has a separate one. */
  cluster: Cluster | null;
  /** The proxy before the database; the pooler connects through it as well. */
  databaseProxy: Proxy;
  pooler: Pooler | null;
  external: ExternalSystems;
  /** The environment of all processes. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

export interface FleetOptions {
  /** Two by default. */
  servers?: number;
  workers?: number;
  /** Uses a separate PostgreSQL server, which can be stopped, instead of the shared one. */
  cluster?: boolean | Cluster;
  /** Servers reach the database through PgBouncer in transaction mode. */
  pooler?: { poolSize: number };
  /** The object store's data directory. */
  filesFolder?: string;
  /** The number of orders in the ERP emulator. */
  orders?: number;
  env?: Record<string, string>;
  /** Overrides of the ERP client's constants. */
  erp?: ConstantOverrides["erp"];
  /** Memory limit of each process in megabytes: a cgroup limit where possible, otherwise a heap limit. */
  memory?: number;
}

/** Starts a production-like set of processes and waits until all are ready. */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const own = options.cluster;
  const [cluster, external] = await Promise.all([
    own === true ? startCluster() : own ? Promise.resolve(own) : null,
    startExternalSystems(options.orders ?? 60, options.filesFolder),
  ]);
  const database = cluster?.database ?? (await createDatabase());
  const databaseProxy = await startProxy(database.url);
  const pooler = options.pooler
    ? await startPooler(database, databaseProxy.url, options.pooler.poolSize)
    : null;
  const env = {
    PATH: programPath,
    ...compileCache,
    NODE_ENV: "test",
    PORT: "0",
    METRICS_PORT: "0",
    DATABASE_URL: databaseProxy.url,
    LOGIN_ATTEMPTS_PER_MINUTE: "100000",
    REQUESTS_PER_MINUTE: "1000000",
    COST_PER_MINUTE: "off",
    // Several readiness checks of the load balancer.
    SHUTDOWN_DELAY_MS: "1500",
    ...external.env,
    ...options.env,
  };
  const constants = {
    ...external.constants,
    worker: { heartbeatMs: 500, pollMs: 200 },
    erp: { ...external.constants.erp, ...options.erp },
  };
  const forServers = { ...env, ...pooler?.env };
  const start = (script: string, count: number, settings: Record<string, string>) =>
    Array.from({ length: count }, (_, index) =>
      startMember(`${script} ${index + 1}`, [script, JSON.stringify(constants)], settings, {
        memory: options.memory,
      }),
    );
  const servers = start("server", options.servers ?? 2, forServers);
  const workers = start("worker", options.workers ?? 2, env);
  const balancer: Balancer = await startBalancer(() =>
    servers.flatMap(({ member }) => member.url() ?? []),
  );
  const all = [...servers, ...workers];
  const stop = async () => {
    await Promise.all(all.map((one) => one.stop()));
    await balancer.stop();
    await pooler?.stop();
    await databaseProxy.stop();
    await external.stop();
    await database.drop();
  };
  try {
    await Promise.all(all.map(({ member }) => member.ready()));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: balancer.url,
    servers: servers.map(({ member }) => member),
    workers: workers.map(({ member }) => member),
    database,
    cluster,
    databaseProxy,
    pooler,
    external,
    env,
    stop,
  };
}

function startMember(
  name: string,
  args: readonly string[],
  settings: Record<string, string>,
  { memory }: Pick<FleetOptions, "memory">,
): { member: Member; stop: () => Promise<void> } {
  let env = settings;
  let child: ChildProcess | undefined;
  let ready: ReadyMessage | undefined;
  let output = "";
  let starts = 0;
  let signalledAt = Date.now();
  const ends: { how: string; ms: number }[] = [];
  const group = memory === undefined ? null : makeMemoryGroup(memory);
  const heap = memory === undefined || group ? [] : [`--max-old-space-size=${memory}`];

  const spawnOne = () => {
    const [program, ...rest] = [
      ...(group?.inside ?? []),
      process.execPath,
      ...heap,
      "test/helpers/officeProcess.ts",
      ...args,
    ];
    const current = spawn(program ?? "", rest, {
      cwd: root,
      env,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    starts++;
    child = current;
    for (const stream of [current.stdout, current.stderr])
      stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    current.once("exit", (code, signal) => {
      ends.push({ how: signal ?? String(code), ms: Date.now() - signalledAt });
      ready = undefined;
      child = undefined;
    });
    return current;
  };
  const supervised = supervise({
    name,
    spawn: spawnOne,
    log: (line) => (output += `${line}\n`),
    onReady: (message) => (ready = message),
    onGiveUp: () => undefined,
    stopTimeoutMs: 30_000,
    timing: quickRestarts,
  });
  const member: Member = {
    name,
    pid: () => child?.pid,
    url: () => ready?.url,
    output: () => output,
    starts: () => starts,
    ends: () => ends,
    signal(signal) {
      signalledAt = Date.now();
      child?.kill(signal);
    },
    async ready(after = 1) {
      await waitFor(
        `${name} to be ready`,
        () => starts >= after && ready !== undefined,
        120_000,
      ).catch((error: unknown) => {
        throw new Error(`${name} is not ready: ${output.slice(-2_000)}`, { cause: error });
      });
    },
    async restart(changed = {}) {
      env = { ...env, ...changed };
      signalledAt = Date.now();
      const before = starts;
      await supervised.restart();
      await member.ready(before + 1);
    },
    async health() {
      const address = [...output.matchAll(/"health":"([^"]+)"/g)].at(-1)?.[1] ?? "";
      const response = await fetch(address, { headers: { accept: "application/json" } });
      return (await response.json()) as FleetHealth;
    },
  };
  const stop = async () => {
    // A process stopped with SIGSTOP cannot handle the shutdown signal.
    child?.kill("SIGCONT");
    await supervised.stop();
    group?.remove();
  };
  return { member, stop };
}
