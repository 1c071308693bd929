import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { hashToken, makeToken } from "../../src/auth/tokens.ts";
import { migrate } from "../../src/migration/migrate.ts";
import { startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { load, makeClient, type Round } from "./client.ts";
import { maxTotal } from "../../src/audit/auditFilter.ts";
import { fill, fullSize, type Size } from "./dataSet.ts";
import {
  type Contestant,
  type ContestantName,
  contestants,
  contestantsNamed,
} from "./contestants.ts";
import { operations, type Operation } from "./operations.ts";
import { launch, messageOf } from "./ownProcess.ts";
import {
  cpuSecondsOf,
  cpuSecondsOfPostgres,
  residentMegabytes,
  stolenSince,
  ticks,
} from "./processes.ts";
import { countingFlags, statementsOf } from "./statements.ts";

// Compares the complete service with a floor without checks, bare PostGraphile, hand-written servers and, when
// `--only` names them after `npm ci --prefix bench/peers`, the servers of bench/peers:
//   npm run bench -- compare/compare [--seconds 3] [--rounds 3] [--connections 32] [--scale 1] [--only service,floor] [--operation 0] [--statements]
// Every response is first compared with plain SQL; then the rounds of all contestants alternate.

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "32" },
    scale: { type: "string", default: "1" },
    only: { type: "string", default: "floor,postgraphile,mercurius,apollo,service" },
    operation: { type: "string" },
    // Prints the number of SQL statements per request instead of measuring.
    statements: { type: "boolean", default: false },
    // A folder for CPU profiles of the servers.
    profile: { type: "string" },
    // The superuser URL and the process of a local server whose tenant `backoffice` already contains the data set.
    url: { type: "string" },
    pid: { type: "string" },
  },
});
const begun = ticks();
const seconds = Number(flags.seconds);
const rounds = Number(flags.rounds);
const connections = Number(flags.connections);
const chosenContestants = contestantsNamed(flags.only.split(","));
const chosen = operations.filter(
  (_operation, index) => flags.operation === undefined || Number(flags.operation) === index,
);
const size = Object.fromEntries(
  Object.entries(fullSize).map(([kind, count]) => [kind, Math.round(count * Number(flags.scale))]),
) as unknown as Size;
size.users = fullSize.users;
size.roles = fullSize.roles;

const database =
  flags.url === undefined
    ? await startLocalPostgres({
        dataDir: join(tmpdir(), `compare-bench-${randomUUID()}`),
        log: () => {},
        ephemeral: true,
        // The same for all, because memory settings are not compared.
        postgresFlags: [
          ...["-c", "shared_buffers=1GB", "-c", "work_mem=16MB"],
          ...(flags.statements ? countingFlags : []),
        ],
      })
    : { url: flags.url, pid: Number(flags.pid), stop: () => Promise.resolve() };
const admin = new pg.Client({
  connectionString: database.url,
  options: "-c search_path=backoffice,extensions",
});
const running: Partial<Record<ContestantName, Running>> = {};
/** The contestants whose own database has been created, at least in part. */
const prepared: ContestantName[] = [];
const collected = new Map<string, Map<ContestantName, Figures[]>>();
try {
  await migrate({ ownerUrl: database.url, tenant: "backoffice", production: true }, () => {});
  await admin.connect();
  // After another failure the server stops before this connection is closed.
  admin.on("error", () => {});
  const started = performance.now();
  if (flags.url === undefined) await fill(admin, size);
  console.log(`data set made in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  const token = await openSession(admin);
  for (const contestant of chosenContestants) await prepare(contestant);
  for (const contestant of chosenContestants) running[contestant] = await start(contestant, token);

  for (const operation of chosen) await checkAnswers(operation, admin);
  console.log("every answer is what plain SQL says\n");
  if (flags.statements) await printStatementCounts(admin);
  else await measure();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  for (const { child } of Object.values(running)) child.kill("SIGTERM");
  for (const contestant of prepared) await dropDatabaseOf(contestant, admin);
  await admin.end();
  await database.stop();
}

interface Running {
  child: ChildProcess;
  send: (body: string) => Promise<string>;
  startMs: number;
}

async function openSession(admin: pg.Client): Promise<string> {
  const token = makeToken("session");
  // Removes the rows of an earlier run on the same database.
  await admin.query(
    `with r as (select id from roles where name = 'Everything'), u as (delete from user_roles using r where role_id = r.id),
       p as (delete from role_permissions using r where role_id = r.id)
     delete from roles using r where roles.id = r.id`,
  );
  await admin.query(
    `with u as (select id from users order by email limit 1),
       r as (insert into roles (name) values ('Everything') returning id),
       p as (insert into role_permissions (role_id, permission_id) select r.id, permissions.id from r, permissions),
       ur as (insert into user_roles (user_id, role_id) select u.id, r.id from u, r)
     insert into sessions (user_id, token_hash, idle_expires_at, expires_at)
     select u.id, $1, now() + interval '1 day', now() + interval '1 day' from u`,
    [hashToken(token)],
  );
  return token;
}

/** The URL of a contestant's database: ours, or its own on the same server. */
function databaseOf(contestant: ContestantName): string {
  if (!(contestants[contestant] as Contestant).prepare) return database.url;
  const own = new URL(database.url);
  own.pathname = `/peers_${contestant}`;
  return own.href;
}

/** Creates a contestant's own database from the data set before the measurements. */
async function prepare(contestant: ContestantName): Promise<void> {
  const { prepare } = contestants[contestant] as Contestant;
  if (!prepare) return;
  prepared.push(contestant);
  const started = performance.now();
  const child = await launch(prepare, database.url, [database.url, databaseOf(contestant)]);
  const [code] = (await once(child, "exit")) as [number | null];
  assert.equal(code, 0, `${prepare} ended with ${code}`);
  const seconds = (performance.now() - started) / 1000;
  console.log(`database of ${contestant} made in ${seconds.toFixed(0)} s`);
}

/** Drops a contestant's own database on an external server. */
async function dropDatabaseOf(contestant: ContestantName, admin: pg.Client): Promise<void> {
  if (flags.url === undefined) return;
  const child = running[contestant]?.child;
  // A running contestant would log each closed connection.
  if (child?.exitCode === null && child.signalCode === null) await once(child, "exit");
  const name = admin.escapeIdentifier(new URL(databaseOf(contestant)).pathname.slice(1));
  await admin.query(`drop database if exists ${name} with (force)`);
}

async function start(contestant: ContestantName, token: string): Promise<Running> {
  const from = performance.now();
  const url = databaseOf(contestant);
  const child = await launch(
    contestants[contestant].file,
    url,
    [url],
    flags.profile === undefined
      ? {}
      : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${flags.profile}/${contestant}` },
  );
  const { url: address } = await messageOf<{ url: string }>(child);
  const isService = contestant === "service";
  const { send } = makeClient(
    isService ? `${address}/graphql` : address,
    connections,
    isService ? { authorization: `Bearer ${token}` } : {},
  );
  return { child, send, startMs: performance.now() - from };
}

/** The contestant's form of an operation when it differs from the published API. */
function shapeOf(contestant: ContestantName, operation: Operation) {
  return (contestants[contestant] as Contestant).shapes?.[operation.key];
}

function bodyOf(contestant: ContestantName, operation: Operation, n: number): string {
  const shape = shapeOf(contestant, operation);
  const query = shape?.document ?? operation.document;
  const published = operation.variables(n, size);
  const variables = shape?.variables?.(published as never) ?? published;
  // Strict servers reject variables that an operation does not declare.
  const declared = Object.fromEntries(
    Object.entries(variables).filter(
      ([name]) => contestant === "floor" || query.includes(`$${name}:`),
    ),
  );
  return JSON.stringify({ query, variables: declared });
}

async function checkAnswers(operation: Operation, admin: pg.Client): Promise<void> {
  for (const n of [0, 7]) {
    const expected = operation.writes
      ? undefined
      : (
          await admin.query<{ data: unknown }>(
            operation.sql,
            operation.sql.includes("$1") ? [JSON.stringify(operation.variables(n, size))] : [],
          )
        ).rows[0]?.data;
    let first: unknown = expected;
    for (const [contestant, { send }] of Object.entries(running) as [ContestantName, Running][]) {
      const answer = JSON.parse(await send(bodyOf(contestant, operation, n))) as {
        data?: never;
        errors?: unknown;
      };
      assert.equal(answer.errors, undefined, `${contestant}: ${JSON.stringify(answer.errors)}`);
      const shape = shapeOf(contestant, operation);
      const data = shape ? shape.toPublished(answer.data as never) : answer.data;
      const plain = normalized(data, operation);
      first ??= plain;
      assert.deepEqual(plain, normalized(first, operation), `${contestant}: ${operation.name}`);
    }
  }
}

/** Leaves out legitimate differences: new ids, fractions of a second, and totals that are lower bounds. */
function normalized(data: unknown, operation: Operation): unknown {
  return JSON.parse(
    JSON.stringify(data, (key, value: unknown) => {
      if (key === "id" && operation.writes) return "new";
      if (key === "total") return Math.min(Number(value), maxTotal);
      if (/(At)$/.test(key) && typeof value === "string") return new Date(value).toISOString();
      return value;
    }),
  );
}

/** Prints the mean number of SQL statements per request of each operation. */
async function printStatementCounts(admin: pg.Client): Promise<void> {
  const requests = 20;
  console.log("SQL statements for each request");
  for (const operation of chosen) {
    console.log(operation.name);
    for (const contestant of chosenContestants) {
      const { send } = running[contestant] as Running;
      const statements = await statementsOf(admin, async () => {
        for (let n = 0; n < requests; n++) await send(bodyOf(contestant, operation, n));
      });
      console.log(`  ${contestant.padEnd(13)}${(statements / requests).toFixed(1).padStart(8)}`);
    }
  }
}

async function measure(): Promise<void> {
  // Warms up compiled code, plans and caches.
  for (const contestant of chosenContestants)
    for (const operation of chosen) {
      const { send } = running[contestant] as Running;
      await load(send, (n) => bodyOf(contestant, operation, n), connections, seconds * 1000);
    }
  for (const operation of chosen) await compare(operation);
  summarise();
}

interface Figures extends Round {
  serverMs: number;
  databaseMs: number;
}

async function compare(operation: Operation): Promise<void> {
  const results = new Map<ContestantName, Figures[]>(chosenContestants.map((one) => [one, []]));
  for (let round = 1; round <= rounds; round++)
    for (const contestant of chosenContestants) {
      const { send, child } = running[contestant] as Running;
      const serverBefore = cpuSecondsOf([child.pid ?? 0]);
      const databaseBefore = cpuSecondsOfPostgres(database.pid);
      const figures = await load(
        send,
        (n) => bodyOf(contestant, operation, n + round * 1000),
        connections,
        seconds * 1000,
      );
      const per = (now: number, before: number) => ((now - before) / figures.requests) * 1000;
      results.get(contestant)?.push({
        ...figures,
        serverMs: per(cpuSecondsOf([child.pid ?? 0]), serverBefore),
        databaseMs: per(cpuSecondsOfPostgres(database.pid), databaseBefore),
      });
    }
  collected.set(operation.name, results);
  console.log(operation.name);
  console.log(
    "  server          req/s   share  spread     p50     p99   server CPU  database CPU (ms)",
  );
  const floor = best(results.get("floor"));
  for (const [contestant, list] of results) {
    const rates = list.map((one) => one.requestsPerSecond);
    const median = medianOf(list);
    const spread = (Math.max(...rates) - Math.min(...rates)) / median.requestsPerSecond / 2;
    console.log(
      `  ${contestant.padEnd(13)}${median.requestsPerSecond.toFixed(0).padStart(8)}` +
        `${(median.requestsPerSecond / floor).toFixed(2).padStart(8)}${`±${(spread * 100).toFixed(0)} %`.padStart(8)}` +
        `${median.p50.toFixed(1).padStart(8)}${median.p99.toFixed(1).padStart(8)}` +
        `${median.serverMs.toFixed(2).padStart(13)}${median.databaseMs.toFixed(2).padStart(14)}`,
    );
  }
  console.log();
}

function medianOf(list: readonly Figures[] = []): Figures {
  const sorted = list.toSorted((a, b) => a.requestsPerSecond - b.requestsPerSecond);
  return sorted[sorted.length >> 1] as Figures;
}

function best(list: readonly Figures[] | undefined): number {
  return list?.length ? medianOf(list).requestsPerSecond : NaN;
}

function summarise(): void {
  console.log(`${cpus()[0]?.model ?? "unknown"}, ${cpus().length} cores, node ${process.version}`);
  console.log("server          geometric mean   worst   start ms   memory MB");
  for (const contestant of chosenContestants) {
    const shares = [...collected.values()].map(
      (results) => best(results.get(contestant)) / best(results.get("floor")),
    );
    const mean = Math.exp(shares.reduce((sum, share) => sum + Math.log(share), 0) / shares.length);
    const { child, startMs } = running[contestant] as Running;
    console.log(
      `${contestant.padEnd(15)}${mean.toFixed(2).padStart(15)}${Math.min(...shares)
        .toFixed(2)
        .padStart(8)}` +
        `${startMs.toFixed(0).padStart(11)}${residentMegabytes(child.pid ?? 0)
          .toFixed(0)
          .padStart(12)}`,
    );
  }
  const loads = readFileSync("/proc/loadavg", "utf8").split(" ").slice(0, 3).join(" ");
  console.log(
    `load average at the end: ${loads}; ${(stolenSince(begun) * 100).toFixed(0)} % of the processors went to others on the host`,
  );
}
