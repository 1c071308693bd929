import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { migrate } from "../src/migration/migrate.ts";
import { startLocalPostgres } from "../dev/emulators/postgres.ts";
import { makeClient } from "./compare/client.ts";
import { fill, fullSize } from "./compare/dataSet.ts";
import { operations } from "./compare/operations.ts";
import { end, launch, messageOf, openSession } from "./compare/ownProcess.ts";
import { cpuSecondsOf, residentMegabytes } from "./compare/processes.ts";

// The time from the start of a server and a worker to the first correct response and the first completed job, on a full
// database, and the share of building the schema:
//   npm run bench -- start [--rounds 3] [--scale 1] [--url ...] (`--url` as in compare/compare.ts)

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    scale: { type: "string", default: "1" },
    url: { type: "string" },
    // Set for the separate process that builds the schema.
    schema: { type: "string" },
  },
});

if (flags.schema !== undefined) {
  await buildSchema(flags.schema);
  process.exit();
}

const scale = Number(flags.scale);
const size = Object.fromEntries(
  Object.entries(fullSize).map(([kind, count]) => [kind, Math.max(200, Math.round(count * scale))]),
) as unknown as typeof fullSize;
const database =
  flags.url === undefined
    ? await startLocalPostgres({
        dataDir: join(tmpdir(), `start-bench-${randomUUID()}`),
        log: () => {},
        ephemeral: true,
      })
    : { url: flags.url, stop: () => Promise.resolve() };
const admin = new pg.Client({
  connectionString: database.url,
  options: "-c search_path=backoffice,extensions",
});
admin.on("error", () => {});
try {
  await migrate({ ownerUrl: database.url, tenant: "backoffice", production: true }, () => {});
  await admin.connect();
  if (flags.url === undefined) await fill(admin, size);
  const token = await openSession(admin);
  // The first start fills the cache of compiled files.
  const cold = await startServer(token);
  print("server, nothing compiled before", cold);
  for (let round = 0; round < Number(flags.rounds); round++) {
    print("server", await startServer(token));
    print("worker", await startWorker());
    const figures = await inSchemaProcess();
    print(`schema alone (${figures.types} types)`, figures.took);
    console.log(
      `  of it: modules ${figures.modules} ms, catalogue and schema ${figures.schema} ms of processor time`,
    );
  }
} finally {
  await admin.end();
  await database.stop();
}

interface Start {
  /** Milliseconds until the process reports that it is ready, and until the first correct response or job. */
  ready: number;
  first: number;
  /** Milliseconds of CPU time until then, which do not depend on other load. */
  processor: number;
  megabytes: number;
}

function print(what: string, { ready, first, processor, megabytes }: Start): void {
  console.log(
    `${what}: ready after ${ready.toFixed(0)} ms, first result after ${first.toFixed(0)} ms, ` +
      `${processor.toFixed(0)} ms of processor time, ${megabytes.toFixed(0)} MB`,
  );
}

async function startServer(token: string): Promise<Start> {
  const from = performance.now();
  const child = await launch("src/server.ts", database.url);
  const { url } = await messageOf<{ url: string }>(child);
  const ready = performance.now() - from;
  const { send, close } = makeClient(`${url}/graphql`, 1, { authorization: `Bearer ${token}` });
  const [operation] = operations;
  if (!operation) throw new Error("There are no operations");
  const variables = operation.variables(0, size);
  const answer = await send(JSON.stringify({ query: operation.document, variables }));
  const first = performance.now() - from;
  const { data } = JSON.parse(answer) as { data?: { user?: { id: string } } };
  if (data?.user?.id !== variables["id"]) throw new Error(`A wrong answer: ${answer}`);
  const pid = child.pid ?? 0;
  const figures = { processor: cpuSecondsOf([pid]) * 1000, megabytes: residentMegabytes(pid) };
  close();
  await end(child);
  return { ready, first, ...figures };
}

async function startWorker(): Promise<Start> {
  // Queued before the worker starts, so that it runs as soon as the worker is ready.
  await admin.query(
    "select graphile_worker.add_job('remove_old_sessions', json_build_object('tenant', 'backoffice', 'input', '{}'::json), job_key => 'start-bench')",
  );
  const from = performance.now();
  // In production it would require all external systems and connect to the search engine.
  const child = await launch("src/worker.ts", database.url, [], {
    NODE_ENV: "development",
    TYPESENSE_URL: "",
    TYPESENSE_API_KEY: "",
  });
  await messageOf(child);
  const ready = performance.now() - from;
  for (;;) {
    const { rows } = await admin.query<{ attempts: number }>(
      "select attempts from graphile_worker.jobs where key = 'start-bench'",
    );
    if (rows.length === 0) break;
    if (rows.some(({ attempts }) => attempts > 1)) throw new Error("The job failed");
    await setTimeout(5);
  }
  const first = performance.now() - from;
  const pid = child.pid ?? 0;
  const figures = { processor: cpuSecondsOf([pid]) * 1000, megabytes: residentMegabytes(pid) };
  await end(child);
  return { ready, first, ...figures };
}

interface SchemaFigures {
  types: number;
  modules: number;
  schema: number;
}

async function inSchemaProcess(): Promise<SchemaFigures & { took: Start }> {
  const from = performance.now();
  const child = await launch("bench/start.ts", database.url, ["--schema", database.url]);
  const figures = await messageOf<SchemaFigures>(child);
  const ready = performance.now() - from;
  const pid = child.pid ?? 0;
  const took = {
    ready,
    first: ready,
    processor: cpuSecondsOf([pid]) * 1000,
    megabytes: residentMegabytes(pid),
  };
  await end(child);
  return { ...figures, took };
}

/** Builds the schema like the server and reports the duration. */
async function buildSchema(url: string): Promise<void> {
  const spent = () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000;
  const before = spent();
  const [{ makeSchema }, { makePreset }, { readConfig }, { poolFor }, { createLog }] =
    await Promise.all([
      import("postgraphile"),
      import("../src/graphile.config.ts"),
      import("../src/config.ts"),
      import("../src/postgres/pools.ts"),
      import("../src/process/log.ts"),
    ]);
  const loaded = spent();
  const pool = poolFor(url, "office_server", 2, { responseTimeoutMs: 60_000 });
  const { schema } = await makeSchema(
    makePreset({
      config: readConfig({}),
      publicUrl: () => "",
      pool,
      tenant: "backoffice",
      tenants: null,
      constraints: new Map(),
      log: createLog("silent"),
    }),
  );
  const figures: SchemaFigures = {
    types: Object.keys(schema.getTypeMap()).length,
    modules: Math.round(loaded - before),
    schema: Math.round(spent() - loaded),
  };
  process.send?.(figures);
  // The parent process reads the result and ends this one.
  await new Promise(() => setInterval(() => {}, 60_000));
}
