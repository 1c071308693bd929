import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { migrate } from "../../src/migration/migrate.ts";
import { startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { load, makeClient, type Round } from "./client.ts";
import { fill, fullSize, type Size } from "./dataSet.ts";
import { operations, type Operation } from "./operations.ts";
import { end, launch, messageOf, openSession } from "./ownProcess.ts";
import { cpuSecondsOf, cpuSecondsOfPostgres, residentMegabytes } from "./processes.ts";
import { measureSearches } from "./searches.ts";

// The cost of the six operations as data and callers grow: with a hundredth, a tenth and all of the rows of the
// data set (users and roles stay the same), then with an increasing number of connections on all rows:
//   npm run bench -- compare/growth [--scales 0.01,0.1,1] [--connections 1,8,32,128] [--seconds 1.5]
// With a file of wines: the cost of searches with this many copies of each wine:
//   npm run bench -- compare/growth --wines <file.csv> [--copies 1,10,100] [--seconds 1.5]

const { values: flags } = parseArgs({
  options: {
    scales: { type: "string", default: "0.01,0.1,1" },
    connections: { type: "string", default: "1,8,32,128" },
    seconds: { type: "string", default: "1.5" },
    wines: { type: "string" },
    copies: { type: "string", default: "1,10,100" },
  },
});
const scales = flags.scales.split(",").map(Number);
const connections = flags.connections.split(",").map(Number);
const durationMs = Number(flags.seconds) * 1000;

interface Figures extends Round {
  /** Milliseconds of processor time for each request. */
  serverMs: number;
  databaseMs: number;
}

if (flags.wines !== undefined) {
  await measureSearches(flags.wines, flags.copies.split(",").map(Number), durationMs);
  process.exit();
}

const byScale = new Map<number, Figures[]>();
const byConnections = new Map<number, Figures[]>();
for (const scale of scales) await atScale(scale, scale === scales.at(-1));
printTable("by rows, on 4 connections: p50, ms", byScale, ({ p50 }) => p50.toFixed(1));
printTable(
  "by rows: processor time of server and database, ms",
  byScale,
  ({ serverMs, databaseMs }) => `${serverMs.toFixed(2)} + ${databaseMs.toFixed(2)}`,
);
printTable("by connections: requests/s", byConnections, ({ requestsPerSecond }) =>
  requestsPerSecond.toFixed(0),
);
printTable(
  "by connections: p50 and p99, ms",
  byConnections,
  ({ p50, p99 }) => `${p50.toFixed(1)} ${p99.toFixed(1)}`,
);

async function atScale(scale: number, isLast: boolean): Promise<void> {
  const { users, roles } = fullSize;
  const rows = Object.entries(fullSize).map(([kind, count]) => [kind, Math.round(count * scale)]);
  const size = { ...Object.fromEntries(rows), users, roles } as Size;
  const database = await startLocalPostgres({
    dataDir: join(tmpdir(), `growth-bench-${randomUUID()}`),
    log: () => {},
    ephemeral: true,
    postgresFlags: ["-c", "shared_buffers=1GB", "-c", "work_mem=16MB"],
  });
  const admin = new pg.Client({
    connectionString: database.url,
    options: "-c search_path=backoffice,extensions",
  });
  // The database may stop before this connection is closed.
  admin.on("error", () => {});
  try {
    await migrate({ ownerUrl: database.url, tenant: "backoffice", production: true }, () => {});
    await admin.connect();
    await fill(admin, size);
    const token = await openSession(admin);
    const child = await launch("src/server.ts", database.url);
    const { url } = await messageOf<{ url: string }>(child);
    const pid = child.pid ?? 0;
    const measure = async (count: number) => {
      const { send, close } = makeClient(`${url}/graphql`, count, {
        authorization: `Bearer ${token}`,
      });
      const found: Figures[] = [];
      for (const operation of operations) {
        await check(send, operation, size);
        // Warms up.
        await load(send, (n) => bodyOf(operation, n, size), count, durationMs / 3);
        const server = cpuSecondsOf([pid]);
        const postgres = cpuSecondsOfPostgres(database.pid);
        const round = await load(send, (n) => bodyOf(operation, n + 1000, size), count, durationMs);
        const per = (now: number, before: number) => ((now - before) / round.requests) * 1000;
        found.push({
          ...round,
          serverMs: per(cpuSecondsOf([pid]), server),
          databaseMs: per(cpuSecondsOfPostgres(database.pid), postgres),
        });
      }
      close();
      return found;
    };
    byScale.set(scale, await measure(4));
    if (isLast) for (const count of connections) byConnections.set(count, await measure(count));
    console.log(
      `${size.products} products, ${size.auditRows} audit rows: server ${residentMegabytes(pid).toFixed(0)} MB`,
    );
    await end(child);
  } finally {
    await admin.end();
    await database.stop();
  }
}

function bodyOf(operation: Operation, n: number, size: Size): string {
  const variables = Object.fromEntries(
    Object.entries(operation.variables(n, size)).filter(([name]) =>
      operation.document.includes(`$${name}:`),
    ),
  );
  return JSON.stringify({ query: operation.document, variables });
}

async function check(
  send: (body: string) => Promise<string>,
  operation: Operation,
  size: Size,
): Promise<void> {
  const answer = JSON.parse(await send(bodyOf(operation, 0, size))) as { errors?: unknown };
  assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
}

function printTable(
  title: string,
  table: ReadonlyMap<number, readonly Figures[]>,
  show: (figures: Figures) => string,
): void {
  const line = (first: string, cells: readonly string[]) =>
    console.log(first.padEnd(58) + cells.map((cell) => cell.padStart(15)).join(""));
  console.log("");
  line(title, [...table.keys()].map(String));
  operations.forEach(({ name }, index) => {
    const cells = [...table.values()].map((list) => {
      const figures = list[index];
      return figures ? show(figures) : "";
    });
    line(`  ${name}`, cells);
  });
}
