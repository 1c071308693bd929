import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { migrate } from "../src/migration/migrate.ts";
import { startLocalPostgres } from "../dev/emulators/postgres.ts";
import { nodeFlags } from "../src/process/heap.ts";
import { startTestFiles } from "../test/helpers/fileServer.ts";
import { startServerProcess } from "../test/helpers/service.ts";
import { launch } from "../test/helpers/workers/workerProcess.ts";
import { addProducts, sampleRows, thirtyFields } from "./exportsData.ts";

// Exports of many products with thirty columns through the real server, worker and embedded object store, beside exceljs's own
// streaming writer, which reads from memory and discards its output:
//   npm run bench -- exports [products,products,...] [rounds]
// The table has as many products as the largest export; they are exported in the order of their names, which differs
// from the stored order. Each round runs both for each number of products. A worker's memory is the peak of its process;
// each export uses a new worker.

/** CPU seconds of all threads of a process. */
async function cpuOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return ((user ?? 0) + (system ?? 0)) / 100;
}

const [sizes = "50000", rounds = "3"] = process.argv.slice(2);
const counts = sizes.split(",").map(Number);
const largest = Math.max(...counts);
const run = promisify(execFile);

const folder = await mkdtemp(join(tmpdir(), "exports-bench-"));
const server = await startLocalPostgres({
  dataDir: join(folder, "postgres"),
  log: () => {},
  ephemeral: true,
  // A typical value for 4 GiB of memory; PostgreSQL's default of 128 MiB is for the smallest machines.
  postgresFlags: ["-c", "shared_buffers=1GB"],
});
const files = await startTestFiles();
try {
  await migrate({ ownerUrl: server.url, tenant: "backoffice" }, () => {});
  const pool = new pg.Pool({
    connectionString: server.url,
    options: "-c search_path=backoffice,extensions,pg_temp",
  });
  await addProducts(pool, largest);
  const service = await startServerProcess({
    database: { url: server.url, pool, drop: async () => {} },
    env: {
      LOG_LEVEL: "warn",
      EXPORT_MAX_PRODUCTS: String(largest),
      ...files.env(),
    },
    // An id takes about forty bytes of the request.
    constants: { limits: { bodyBytes: 5_000_000 + largest * 40 } },
  });
  const { token } = await service.login([
    "exports.create",
    "exports.read",
    "products.read",
    "reviewers.read",
    "exporttemplates.update",
  ]);
  const ask = async (query: string, variables: Record<string, unknown> = {}) => {
    const { data, errors } = await service.ask(query, { token, variables });
    assert.equal(errors, undefined, JSON.stringify(errors));
    return data;
  };
  const { createExportTemplate: template } = await ask(
    "mutation ($input: CreateExportTemplateInput!) { createExportTemplate(input: $input) { id } }",
    { input: { name: "Bench", kind: "TABLE", columns: thirtyFields.map((field) => ({ field })) } },
  );
  const { rows: ids } = await pool.query<{ id: string }>("select id from products order by name");
  const begin = async (count: number) => {
    const { createDataExportFromTemplate: job } = await ask(
      "mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }",
      { input: { templateId: template.id, productIds: ids.slice(0, count).map(({ id }) => id) } },
    );
    return job.id as string;
  };

  const sampled = await begin(1000);
  const rowsFile = join(folder, "rows.json");
  await writeFile(
    rowsFile,
    JSON.stringify({ titles: thirtyFields, rows: await sampleRows(pool, sampled, thirtyFields) }),
  );
  await ask("mutation ($id: ID!) { deleteExportJob(id: $id) }", { id: sampled });

  /** Runs an export with a new worker. */
  async function exported(count: number): Promise<Figures> {
    const worker = launch([...nodeFlags, join(import.meta.dirname, "../src/worker.ts")], {
      NODE_ENV: "test",
      DATABASE_URL: server.url,
      LOG_LEVEL: "info",
      ...files.env(),
    });
    while (!worker.output().includes("worker started")) await setTimeout(50);
    const memory = async () =>
      Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${worker.pid}/status`, "utf8"))?.[1]) /
      1024;
    const idle = await memory();
    const before = await cpuOf(worker.pid);
    const id = await begin(count);
    for (;;) {
      const { exportJob } = await ask(
        "query ($id: ID!) { exportJob(id: $id) { status errorMessage exportedRows } }",
        { id },
      );
      assert.ok(!["failed", "cancelled"].includes(exportJob.status), exportJob.errorMessage);
      if (exportJob.status === "completed") {
        assert.equal(exportJob.exportedRows, count);
        break;
      }
      await setTimeout(500);
    }
    const { rows: times } = await pool.query<{ seconds: number }>(
      "select extract(epoch from finished_at - started_at)::float as seconds from export_jobs where id = $1",
      [id],
    );
    const peak = await memory();
    const cpu = (await cpuOf(worker.pid)) - before;
    worker.signal("SIGTERM");
    await worker.exited;
    return { seconds: times[0]?.seconds ?? NaN, cpu, peak, idle };
  }

  const results = new Map<string, { count: number; figures: Figures[] }>();
  const note = (name: string, count: number, figures: Figures) => {
    const key = `${name} ${count}`;
    const result = results.get(key) ?? { count, figures: [] };
    result.figures.push(figures);
    results.set(key, result);
  };
  for (let round = 0; round < Number(rounds); round++)
    for (const count of counts) {
      note("service", count, await exported(count));
      const script = join(import.meta.dirname, "exportsPlain.ts");
      const plain = await run(process.execPath, [script, rowsFile, String(count)]);
      note("exceljs", count, JSON.parse(plain.stdout) as Figures);
    }
  for (const [name, { count, figures }] of results) {
    const median = (of: (one: Figures) => number) =>
      figures.map(of).toSorted((a, b) => a - b)[figures.length >> 1] ?? NaN;
    const seconds = median((one) => one.seconds);
    const idle = median((one) => one.idle ?? NaN);
    console.log(
      `${name.padEnd(16)} ${String(Math.round(count / seconds)).padStart(7)} rows/s, ${seconds.toFixed(1)} s, ` +
        `${median((one) => one.cpu).toFixed(1)} s of processor, most memory ${Math.round(median((one) => one.peak))} MiB` +
        (Number.isNaN(idle) ? "" : ` (${Math.round(idle)} before it begins)`),
    );
  }
  await service.stop();
  await pool.end();
} finally {
  await files.stop();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

interface Figures {
  seconds: number;
  cpu: number;
  /** In MiB. */
  peak: number;
  idle?: number;
}
