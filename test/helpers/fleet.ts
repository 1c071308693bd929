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
import type { Outside } from "./outside.ts";
import { startOutside } from "./outside.ts";
import type { Pooler } from "./pooler.ts";
import { startPooler } from "./pooler.ts";
import type { Proxy } from "./proxy.ts";
import { startProxy } from "./proxy.ts";
import { waitFor } from "./waitFor.ts";

const root = join(import.meta.dirname, "../..");
const quickRestarts = { firstDelayMs: 100, longestDelayMs: 1_000, forgetAfterMs: 2_000 };

/** One process of the fleet, which its supervisor starts again whenever it ends. */
export interface Member {
  name: string;
  /** Of the process that runs at present. */
  pid(): number | undefined;
  /** A server's address while it runs. */
  url(): string | undefined;
  /** What all processes in this place wrote. */
  output(): string;
  /** How often it was started. */
  starts(): number;
  /** How it ended each time, a code or a signal, and how long that took since it was last told by `signal`. */
  ends(): readonly { how: string; ms: number }[];
  signal(name: NodeJS.Signals): void;
  /** Waits until a process that was started after so many others is ready. */
  ready(starts?: number): Promise<void>;
  /** Drains it and starts it again, as a deployment does; `settings` replace its settings. */
  restart(settings?: Readonly<Record<string, string>>): Promise<void>;
  /** Where operators look at the process: its health page as JSON. */
  health(): Promise<FleetHealth>;
}

/** What the health page of a process says. */
export interface FleetHealth {
  status: string;
  systems: { name: string; state: string; circuit?: string }[];
}

/** Servers and workers behind a balancer, on one database, with proxies before everything outside. */
export interface Fleet {
  /** The balancer's. */
  url: string;
  servers: Member[];
  workers: Member[];
  /** For the superuser, past the proxy. */
  database: TestDatabase;
  /** The PostgreSQL server, if the fleet has a separate one. */
  cluster: Cluster | null;
  /** Before the database, for all processes (for the pooler, where there is one). */
  databaseProxy: Proxy;
  pooler: Pooler | null;
  outside: Outside;
  /** What all processes are started with. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

export interface FleetOptions {
  /** Two unless said otherwise. */
  servers?: number;
  workers?: number;
  /** Uses a separate PostgreSQL server, which can be stopped, instead of the shared one. */
  cluster?: boolean | Cluster;
  /** Servers reach the database through PgBouncer in transaction mode. */
  pooler?: { poolSize: number };
  /** Where the file store keeps its files. */
  filesFolder?: string;
  /** Orders that the emulated ERP holds. */
  orders?: number;
  env?: Record<string, string>;
  /** Constants of the ERP client that differ. */
  erp?: ConstantOverrides["erp"];
  /** Megabytes of memory that each process may have: the kernel's bound where it sets one for us, or else one of its heap. */
  memory?: number;
}

/** Starts the production-like set-up and waits until all of it is ready. */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const own = options.cluster;
  const [cluster, outside] = await Promise.all([
    own === true ? startCluster() : own ? Promise.resolve(own) : null,
    startOutside(options.orders ?? 60, options.filesFolder),
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
    // Some looks of the balancer at `/readyz`.
    SHUTDOWN_DELAY_MS: "1500",
    ...outside.env,
    ...options.env,
  };
  const constants = {
    ...outside.constants,
    worker: { heartbeatMs: 500, pollMs: 200 },
    erp: { ...outside.constants.erp, ...options.erp },
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
    await outside.stop();
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
    outside,
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
  let toldAt = Date.now();
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
      ends.push({ how: signal ?? String(code), ms: Date.now() - toldAt });
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
      toldAt = Date.now();
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
      toldAt = Date.now();
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
    // One that is frozen could not hear that it is to stop.
    child?.kill("SIGCONT");
    await supervised.stop();
    group?.remove();
  };
  return { member, stop };
}
