import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { hashToken, makeToken } from "../../src/auth/tokens.ts";
import { migrate } from "../../db/migrate.ts";
import { startEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { makeClient } from "./client.ts";
import { fill, fullSize } from "./dataSet.ts";
import { operations } from "./operations.ts";
import { residentMegabytes } from "./processes.ts";

// Sends mixed requests to this service for as long as it takes, with large lists beside them, and shows its memory and how long its
// event loop was held up (`--url` as in compare.ts; the session is made there):
//   node bench/compare/soak.ts [--requests 200000] [--connections 32]

const { values: flags } = parseArgs({
  options: {
    requests: { type: "string", default: "200000" },
    connections: { type: "string", default: "32" },
    url: { type: "string" },
  },
});
const requests = Number(flags.requests);
const connections = Number(flags.connections);
const root = join(import.meta.dirname, "../..");
/** What is asked for beside the operations: a large page with all that belongs to its rows. */
const largeList = JSON.stringify({
  query: `{ products(first: 250) { nodes { id name description producer wineType { id name } campaigns { id title author { id name } } } } }`,
});

const database =
  flags.url === undefined
    ? await startEmbeddedPostgres({
        dataDir: join(tmpdir(), `soak-bench-${randomUUID()}`),
        log: () => {},
        ephemeral: true,
        postgresFlags: ["-c", "shared_buffers=1GB"],
      })
    : { url: flags.url, stop: () => Promise.resolve() };
try {
  const token = await prepare(database.url);
  const from = performance.now();
  const child = spawn(process.execPath, ["src/server.ts"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: {
      PATH: process.env["PATH"],
      GRAPHILE_ENV: "production",
      PORT: "0",
      METRICS_PORT: "9465",
      DATABASE_URL: database.url,
      LOG_LEVEL: "warn",
      REQUESTS_PER_MINUTE: "off",
      COST_PER_MINUTE: "off",
    },
  });
  const address = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    child.once("message", (message: { url: string }) => resolve(message.url));
  });
  const { send } = makeClient(`${address}/graphql`, connections + 1, {
    authorization: `Bearer ${token}`,
  });
  await send(bodyOf(0));
  console.log(`first right answer after ${(performance.now() - from).toFixed(0)} ms`);
  await soak(send, child.pid ?? 0);
  child.kill("SIGTERM");
} finally {
  await database.stop();
}
process.exit();

async function prepare(url: string): Promise<string> {
  if (flags.url === undefined) await migrate({ ownerUrl: url, area: "backoffice" }, () => {});
  const admin = new pg.Client({
    connectionString: url,
    options: "-c search_path=backoffice,extensions",
  });
  await admin.connect();
  if (flags.url === undefined) await fill(admin, fullSize);
  const token = makeToken("session");
  await admin.query(
    `with u as (insert into users (email, name, is_active) values ($1, 'Soak', true) returning id),
       r as (insert into roles (name) values ($1) returning id),
       p as (insert into role_permissions (role_id, permission_id) select r.id, permissions.id from r, permissions),
       ur as (insert into user_roles (user_id, role_id) select u.id, r.id from u, r)
     insert into sessions (user_id, token_hash, idle_expires_at, expires_at)
     select u.id, $2, now() + interval '1 day', now() + interval '1 day' from u`,
    [`soak-${randomUUID()}@example.com`, hashToken(token)],
  );
  await admin.end();
  return token;
}

function bodyOf(n: number): string {
  const operation = operations[n % operations.length];
  if (!operation) throw new Error("There are no operations");
  const variables = Object.fromEntries(
    Object.entries(operation.variables(n, fullSize)).filter(([name]) =>
      operation.document.includes(`$${name}:`),
    ),
  );
  // Every twelfth of them is a document that was never seen before.
  const seen = Math.floor(n / operations.length) % 12 === 0 ? `# ${n}\n` : "";
  return JSON.stringify({ query: seen + operation.document, variables });
}

async function soak(send: (body: string) => Promise<string>, pid: number): Promise<void> {
  console.log("requests  errors     req/s  memory MB  event loop held up, ms: p99     most");
  let n = 0;
  let errors = 0;
  let done = 0;
  let since = performance.now();
  const step = Math.max(1, Math.floor(requests / 10));
  const one = async () => {
    while (n < requests) {
      const answer = await send(bodyOf(n++));
      if (answer.includes('"errors"')) errors++;
      if (++done % step === 0) await report();
    }
  };
  const report = async () => {
    const took = (performance.now() - since) / 1000;
    since = performance.now();
    const { p99, most } = await eventLoop();
    console.log(
      `${String(done).padStart(8)}${String(errors).padStart(8)}${(step / took).toFixed(0).padStart(10)}` +
        `${residentMegabytes(pid).toFixed(0).padStart(11)}${p99.toFixed(1).padStart(28)}${most.toFixed(1).padStart(9)}`,
    );
  };
  const beside = async () => {
    while (n < requests) await send(largeList);
  };
  await Promise.all([beside(), ...Array.from({ length: connections }, one)]);
}

async function eventLoop(): Promise<{ p99: number; most: number }> {
  const text = await (await fetch("http://127.0.0.1:9465/metrics")).text();
  const of = (name: string) =>
    Number(new RegExp(`^nodejs_eventloop_lag_${name}_seconds ([\\d.e+-]+)`, "m").exec(text)?.[1]) *
    1000;
  return { p99: of("p99"), most: of("max") };
}
