import { randomUUID } from "node:crypto";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { migrate } from "../../src/migration/migrate.ts";
import { startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { load, makeClient } from "./client.ts";
import { fill, fullSize, type Size } from "./dataSet.ts";
import { operations } from "./operations.ts";
import { end, launch, messageOf, openSession } from "./ownProcess.ts";

// The cost of garbage collection for each of the six operations: the memory that a finished request holds
// until the next full collection, and the duration of collections. A request should hold almost nothing:
//   npm run bench -- compare/garbage [--seconds 5] [--connections 32] [--scale 0.1]

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    connections: { type: "string", default: "32" },
    scale: { type: "string", default: "0.1" },
  },
});
const connections = Number(flags.connections);
const durationMs = Number(flags.seconds) * 1000;
const { users, roles } = fullSize;
const rows = Object.entries(fullSize).map(([kind, count]) => [
  kind,
  Math.round(count * Number(flags.scale)),
]);
const size = { ...Object.fromEntries(rows), users, roles } as Size;

const database = await startLocalPostgres({
  dataDir: join(tmpdir(), `garbage-bench-${randomUUID()}`),
  log: () => {},
  ephemeral: true,
});
try {
  await migrate({ ownerUrl: database.url, tenant: "backoffice", production: true }, () => {});
  const admin = new pg.Client({
    connectionString: database.url,
    options: "-c search_path=backoffice,extensions",
  });
  await admin.connect();
  await fill(admin, size);
  const token = await openSession(admin);
  await admin.end();
  console.log(
    "                                                           requests/s  kept KB each  stopped %",
  );
  // A new process for each operation.
  for (const { name, document, variables } of operations) {
    const port = await freePort();
    const child = await launch("src/server.ts", database.url, [], { METRICS_PORT: String(port) });
    const { url } = await messageOf<{ url: string }>(child);
    const { send, close } = makeClient(`${url}/graphql`, connections, {
      authorization: `Bearer ${token}`,
    });
    const next = (n: number) => {
      const given = Object.entries(variables(n, size)).filter(([key]) =>
        document.includes(`$${key}:`),
      );
      return JSON.stringify({ query: document, variables: Object.fromEntries(given) });
    };
    await load(send, next, connections, durationMs);
    const before = await readMemory(port);
    let kept = 0;
    let last = before.oldBytes;
    const sampler = setInterval(() => {
      void readMemory(port).then(({ oldBytes }) => {
        // Memory that a full collection frees is not negative growth.
        kept += Math.max(0, oldBytes - last);
        last = oldBytes;
      });
    }, 200);
    const round = await load(send, next, connections, durationMs);
    clearInterval(sampler);
    const { stoppedSeconds } = await readMemory(port);
    const stopped = (stoppedSeconds - before.stoppedSeconds) / (durationMs / 1000);
    console.log(
      `${name.padEnd(58)}${round.requestsPerSecond.toFixed(0).padStart(11)}` +
        `${(kept / round.requests / 1024).toFixed(2).padStart(14)}${(stopped * 100).toFixed(1).padStart(11)}`,
    );
    close();
    await end(child);
  }
} finally {
  await database.stop();
}

/** The memory that survived the first collections, and the total duration of all collections. */
async function readMemory(port: number): Promise<{ oldBytes: number; stoppedSeconds: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const sumOf = (pattern: RegExp) =>
    [...text.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0);
  return {
    oldBytes: sumOf(/^nodejs_heap_space_size_used_bytes\{space="old"[^}]*\} (\S+)$/gm),
    stoppedSeconds: sumOf(/^nodejs_gc_duration_seconds_sum\{[^}]*\} (\S+)$/gm),
  };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
