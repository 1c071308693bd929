import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { waitFor } from "../helpers/waitFor.ts";
import { tenantsOf, cleanUp, run } from "../helpers/http/testRuns.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";
import type { ExportService } from "../helpers/exports/exportService.ts";
import { startExportService } from "../helpers/exports/exportService.ts";

let exports: ExportService;

beforeAll(async () => {
  exports = await startExportService({ ENABLE_E2E_TEST_MODE: "true" });
  await exports.startWorker();
});
afterAll(async () => {
  await endWorkers();
  await exports.stop();
});

/** Sends requests in a test run. */
const inRun = (id: string) => {
  let token: string | null = null;
  const ask = async (query: string, variables: Record<string, unknown> = {}) => {
    const answer = await exports.service.ask(query, { token, variables, headers: run(id) });
    if (answer.errors) throw new Error(answer.errors[0]?.message);
    return answer.data;
  };
  return {
    ask,
    async begin(): Promise<string> {
      const made = await ask(`mutation { bootstrapFirstUser(email: "a@example.com") { token } }`);
      token = made.bootstrapFirstUser.token;
      return made.bootstrapFirstUser.token;
    },
    async export(count: number, size = 10): Promise<string> {
      const synced = await ask(
        `mutation ($input: SyncProductsInput!) { syncProducts(input: $input) { products { id } } }`,
        {
          input: {
            products: Array.from({ length: count }, (_, index) => ({
              erpProductNumber: String(index),
              fields: { name: `Wine ${index}`, description: "x".repeat(size) },
            })),
          },
        },
      );
      const { exportTemplates } = await ask("{ exportTemplates { id name } }");
      const { createDataExportFromTemplate: job } = await ask(
        `mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }`,
        {
          input: {
            templateId: exportTemplates[0].id,
            productIds: synced.syncProducts.products.map(({ id }: { id: string }) => id),
          },
        },
      );
      return job.id;
    },
    done: (jobId: string) =>
      waitFor("the export", async () => {
        const { exportJob } = await ask("query ($id: ID!) { exportJob(id: $id) { status } }", {
          id: jobId,
        });
        return exportJob.status === "completed";
      }),
  };
};
const keysOf = async (tenant: string) =>
  (await exports.files.content()).files.filter((key) => key.startsWith(`${tenant}/`));

describe("an isolated test run", () => {
  test("has its own exports: its token, its file, its key prefix", async () => {
    const one = inRun("one");
    const token = await one.begin();
    const id = await one.export(3);
    await one.done(id);
    expect(await keysOf("backoffice_e2e_one")).toEqual([`backoffice_e2e_one/exports/${id}/1.xlsx`]);
    expect(await keysOf("backoffice")).toEqual([]);
    const download = (headers: Record<string, string>) =>
      fetch(`${exports.service.url}/exports/${id}/download`, {
        headers: { authorization: `Bearer ${token}`, ...headers },
      });
    const response = await download(run("one"));
    const { url } = (await response.json()) as { url: string };
    expect((await fetch(url)).status).toBe(200);
    expect((await download({})).status).toBe(401);
    expect((await download(run("two"))).status).toBe(401);
    expect((await download({ "x-test-run-id": "no/such" })).status).toBe(400);
  });

  test("deletes only its own files when it is cleaned up", async () => {
    const [one, two] = [inRun("gone"), inRun("stays")];
    await one.begin();
    await two.begin();
    await one.done(await one.export(3));
    await two.done(await two.export(3));
    expect((await cleanUp(exports.service, "gone")).data.cleanupTestRun).toBe(true);
    expect(await keysOf("backoffice_e2e_gone")).toEqual([]);
    expect(await keysOf("backoffice_e2e_stays")).toHaveLength(1);
    expect((await cleanUp(exports.service, "stays")).data.cleanupTestRun).toBe(true);
  });

  test("deletes expired files", async () => {
    const one = inRun("expires");
    await one.begin();
    const id = await one.export(3);
    await one.done(id);
    const { pool } = exports.service.database;
    await pool.query("update backoffice_e2e_expires.export_jobs set expires_at = now()");
    await pool.query("select enqueue_job('clean_exports', '{}')");
    await waitFor(
      "the file to go",
      async () => (await keysOf("backoffice_e2e_expires")).length === 0,
    );
    const { exportJob } = await one.ask("query ($id: ID!) { exportJob(id: $id) { status } }", {
      id,
    });
    expect(exportJob.status).toBe("expired");
    expect((await cleanUp(exports.service, "expires")).data.cleanupTestRun).toBe(true);
  });

  test("leaves nothing when it is cleaned up during an export", async () => {
    const busy = inRun("busy");
    await busy.begin();
    await busy.export(1000, 4000);
    expect((await cleanUp(exports.service, "busy")).data.cleanupTestRun).toBe(true);
    expect(await tenantsOf(exports.service)).not.toContain("busy");
    await waitFor("its files to go", async () => {
      const { files, unfinished } = await exports.files.content();
      return ![...files, ...unfinished].some((key) => key.startsWith("backoffice_e2e_busy/"));
    });
  });

  test("is remembered after a sweep until its files are deleted", async () => {
    const swept = inRun("swept");
    await swept.begin();
    await swept.done(await swept.export(3));
    const { pool } = exports.service.database;
    // A tenant stays while one of its jobs runs, and the job ends after the export is done.
    await waitFor("its jobs to end", async () => {
      const { rows } = await pool.query(
        "select from graphile_worker.jobs where locked_at is not null",
      );
      return rows.length === 0;
    });
    await pool.query(
      "update office_jobs.tenants set last_used_at = now() - interval '2 days' where run_id = 'swept'",
    );
    await pool.query("select enqueue_job('sweep_test_tenants', '{}')");
    await waitFor(
      "the tenant to go",
      async () => !(await tenantsOf(exports.service)).includes("swept"),
    );
    await waitFor(
      "its files to go",
      async () => (await keysOf("backoffice_e2e_swept")).length === 0,
    );
  });
});
