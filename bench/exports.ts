import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { migrate } from "../db/migrate.ts";
import { startEmbeddedPostgres } from "../src/embedded/postgres.ts";
import { startTestFiles } from "../test/helpers/fileServer.ts";
import { startService } from "../test/helpers/service.ts";
import { launch } from "../test/workers/fixtures/workerProcess.ts";

// An export of many products with thirty columns through the real server, worker and embedded object store, beside exceljs's own
// streaming writer that is fed from memory and writes to nowhere:
//   node bench/exports.ts [products] [rounds]
// Each round runs both. A worker's memory is the most that its process ever had, with everything in it; each export has a new one.

/** Seconds of processor that a process has used, all its threads together. */
async function cpuOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return ((user ?? 0) + (system ?? 0)) / 100;
}

const [count = "50000", rounds = "3"] = process.argv.slice(2);
const run = promisify(execFile);
const fields = [
  ..."id erpProductNumber name vintage producer grapeVariety country province region description".split(
    " ",
  ),
  ..."alcoholPercent bottleSizeMl stockQuantity isActive sourceUpdatedAt createdAt updatedAt".split(
    " ",
  ),
  ..."wineTypeId wineType.name wineType.color prices.retail.DKK prices.wholesale.EUR".split(" "),
  ..."ratings.average ratings.count ratings.latest.points ratings.latest.year".split(" "),
  ..."ratings.latest.reviewer image.url image.altText ratings.latest.review".split(" "),
];
assert.equal(fields.length, 30);

const folder = await mkdtemp(join(tmpdir(), "exports-bench-"));
const server = await startEmbeddedPostgres({
  dataDir: join(folder, "postgres"),
  log: () => {},
  ephemeral: true,
});
const files = await startTestFiles();
try {
  await migrate({ ownerUrl: server.url, area: "backoffice" }, () => {});
  const pool = new pg.Pool({
    connectionString: server.url,
    options: "-c search_path=backoffice,extensions,pg_temp",
  });
  await pool.query(
    `
    set session_replication_role = replica;
    insert into products (erp_product_number, name, vintage, wine_type_id, producer, grape_variety, country, province, region,
      description, alcohol_percent, bottle_size_ml, stock_quantity, source_updated_at)
    select lpad(n::text, 8, '0'), 'Château ' || md5(n::text), 1990 + n % 30, w.id, 'Producer ' || n % 700, 'Grape ' || n % 90,
      'Country ' || n % 40, 'Province ' || n % 300, 'Region ' || n % 900,
      'A wine of the year, ' || repeat(md5(n::text) || ' ', 6), 11 + n % 40 / 10.0, 750, n % 500, now()
    from generate_series(1, ${Number(count)}) n
      join (select id, row_number() over () as place, count(*) over () as of from wine_types) w on w.place = n % w.of + 1;
    insert into product_prices (product_id, type, currency, amount)
    select id, 'retail', 'DKK', 100 + vintage % 50 from products union all select id, 'wholesale', 'EUR', 10.25 from products;
    insert into product_images (product_id, url, alt_text) select id, 'https://images.example/' || id || '.png', name from products;
    insert into reviewers (name) select 'Reviewer ' || n from generate_series(1, 3) n;
    insert into product_ratings (product_id, reviewer_id, year, points, review)
    select p.id, r.id, 2020, 85 + p.vintage % 10, 'Dark fruit and spice' from products p, reviewers r;
    set session_replication_role = default`,
  );
  await pool.query("vacuum analyze products");
  await pool.query("vacuum analyze product_prices");
  await pool.query("vacuum analyze product_ratings");
  await pool.query("vacuum analyze product_images");

  const service = await startService({
    database: { url: server.url, pool, drop: async () => {} },
    env: { LOG_LEVEL: "warn", EXPORT_MAX_PRODUCTS: count, ...files.env() },
  });
  const { token } = await service.login([
    ...[
      "exports.create",
      "exports.read",
      "products.read",
      "reviewers.read",
      "exporttemplates.update",
    ],
  ]);
  const ask = async (query: string, variables: Record<string, unknown> = {}) => {
    const { data, errors } = await service.ask(query, { token, variables });
    assert.equal(errors, undefined, JSON.stringify(errors));
    return data;
  };
  const { createExportTemplate: template } = await ask(
    "mutation ($input: CreateExportTemplateInput!) { createExportTemplate(input: $input) { id } }",
    { input: { name: "Bench", kind: "TABLE", columns: fields.map((field) => ({ field })) } },
  );
  const { rows: ids } = await pool.query<{ id: string }>("select id from products order by name");

  // The same values for the other side.
  const { rows: statements } = await pool.query<{ text: string }>(
    "select export_query($1) as text",
    [fields],
  );
  const sample = await pool.query({
    text: statements[0]?.text ?? "",
    values: [ids.slice(0, 1000).map(({ id }) => id)],
    rowMode: "array",
  });
  const numbers = new Set(["vintage", "alcoholPercent", "bottleSizeMl", "stockQuantity"]);
  const rowsFile = join(folder, "rows.json");
  await writeFile(
    rowsFile,
    JSON.stringify({
      titles: fields,
      rows: sample.rows.map(([, ...row]: unknown[]) =>
        row.map((value, index) =>
          numbers.has(fields[index] ?? "") ||
          /price|average|count|points|year/.test(fields[index] ?? "")
            ? Number(value)
            : value,
        ),
      ),
    }),
  );

  const results: Record<string, { seconds: number; cpu: number; peak: number }[]> = {
    service: [],
    exceljs: [],
  };
  for (let round = 0; round < Number(rounds); round++) {
    const worker = launch([join(import.meta.dirname, "../src/worker.ts")], {
      NODE_ENV: "test",
      DATABASE_URL: server.url,
      LOG_LEVEL: "info",
      ...files.env(),
    });
    while (!worker.output().includes("the worker takes jobs")) await setTimeout(50);
    const memory = async () =>
      Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${worker.pid}/status`, "utf8"))?.[1]) /
      1024;
    const idle = await memory();
    const before = await cpuOf(worker.pid);
    const asked = performance.now();
    const { createDataExportFromTemplate: job } = await ask(
      "mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }",
      { input: { templateId: template.id, productIds: ids.map(({ id }) => id) } },
    );
    const accepted = performance.now() - asked;
    for (;;) {
      const { exportJob } = await ask(
        "query ($id: ID!) { exportJob(id: $id) { status errorMessage exportedRows fileSize } }",
        { id: job.id },
      );
      assert.ok(!["failed", "cancelled"].includes(exportJob.status), exportJob.errorMessage);
      if (exportJob.status === "completed") {
        assert.equal(exportJob.exportedRows, ids.length);
        const mebibytes = (exportJob.fileSize / 2 ** 20).toFixed(1);
        console.log(`accepted in ${Math.round(accepted)} ms, ${mebibytes} MiB`);
        break;
      }
      await setTimeout(500);
    }
    const { rows: times } = await pool.query<{ seconds: number }>(
      "select extract(epoch from finished_at - started_at)::float as seconds from export_jobs where id = $1",
      [job.id],
    );
    const peak = await memory();
    console.log(`a worker has ${Math.round(idle)} MiB before it begins`);
    results.service?.push({
      seconds: times[0]?.seconds ?? NaN,
      cpu: (await cpuOf(worker.pid)) - before,
      peak,
    });
    worker.signal("SIGTERM");
    await worker.exited;

    const plain = await run(process.execPath, [
      join(import.meta.dirname, "exportsPlain.ts"),
      rowsFile,
      count,
    ]);
    results.exceljs?.push(
      JSON.parse(plain.stdout) as { seconds: number; cpu: number; peak: number },
    );
  }
  for (const [name, rounds] of Object.entries(results)) {
    const median = (values: number[]) =>
      values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
    const seconds = median(rounds.map((one) => one.seconds));
    const cpu = median(rounds.map((one) => one.cpu));
    const peak = median(rounds.map((one) => one.peak));
    console.log(
      `${name.padEnd(8)} ${String(Math.round(ids.length / seconds)).padStart(7)} rows/s, ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s of processor, most memory ${Math.round(peak)} MiB`,
    );
  }
  await service.stop();
  await pool.end();
} finally {
  await files.stop();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
