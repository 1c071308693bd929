import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { timed } from "../helpers/http.ts";
import { waitFor } from "../helpers/waitFor.ts";
import {
  resetLongExports,
  count,
  expectNothingAfterDeleting,
  expectOneFile,
  exports,
  runNextAttempt,
  ids,
  proxy,
  rowsOf,
  runFileDeletions,
  startLongExports,
  startWorker,
  stopLongExports,
  wide,
} from "../helpers/exports/longExports.ts";

beforeAll(startLongExports);
afterEach(resetLongExports);
afterAll(stopLongExports);

describe("an export", () => {
  test("shows its progress", async () => {
    await startWorker();
    const { id } = await exports.start(wide, ids);
    const seen = new Set<number>();
    await waitFor("the export to end", async () => {
      const job = await exports.job(id);
      if (job?.status === "running") seen.add(job.exportedRows);
      return job?.status === "completed";
    });
    expect([...seen].filter((rows) => rows > 0 && rows < count).length).toBeGreaterThan(0);
    expect([...seen]).toEqual([...seen].toSorted((a, b) => a - b));
    await expectOneFile(id);
  });

  test.each(["cancelExportJob", "deleteExportJob"])(
    "stops within seconds of %s and leaves no file",
    async (verb) => {
      const worker = await startWorker();
      const { id } = await exports.start(wide, ids);
      await waitFor(
        "a part to be sent",
        async () => (await exports.files.content()).unfinished.length > 0,
      );
      const asked = verb === "cancelExportJob" ? "(id: $id) { status }" : "(id: $id)";
      const { ms } = await timed(async () => {
        await exports.service.ask(`mutation ($id: ID!) { ${verb}${asked} }`, {
          token: exports.exporter.token,
          variables: { id },
        });
        await waitFor("the worker to stop it", () => worker.output().includes("export stopped"));
      });
      expect(ms).toBeLessThan(30_000);
      expect(await exports.job(id)).toEqual(
        verb === "deleteExportJob"
          ? null
          : expect.objectContaining({ status: "cancelled", fileSize: null, errorMessage: null }),
      );
      await runFileDeletions();
      await waitFor("nothing to be left", async () => {
        const { files, unfinished } = await exports.files.content();
        return files.length + unfinished.length === 0;
      });
    },
  );

  test("uses one snapshot, without changes made while it runs", async () => {
    const worker = await startWorker();
    const { pool } = exports.service.database;
    const { rows: extra } = await pool.query<{ id: string }>(
      "insert into products (erp_product_number, name) values ('extra', 'Deleted meanwhile') returning id",
    );
    const { id } = await exports.start(wide, [...ids, extra[0]?.id ?? ""]);
    await waitFor("rows to be read", async () => ((await exports.job(id))?.exportedRows ?? 0) > 0);
    worker.signal("SIGSTOP");
    // These are not read yet, and the store has not received all earlier rows.
    expect((await exports.job(id))?.exportedRows).toBeLessThan(count - 500);
    await pool.query("update products set name = 'Changed' where id = any ($1)", [ids.slice(-500)]);
    await pool.query("delete from products where erp_product_number = 'extra'");
    worker.signal("SIGCONT");
    const job = await exports.reaches(id, ["completed"]);
    expect(job).toMatchObject({ totalRows: count + 1, exportedRows: count + 1, notes: [] });
    const rows = await rowsOf(id);
    expect(rows).toHaveLength(count + 2);
    expect(rows.at(-1)).toContain("Deleted meanwhile");
    expect(rows.at(-2)).toContain(`>Wine ${count}<`);
    expect(rows.filter((row) => row.includes("Changed"))).toEqual([]);
    await expectNothingAfterDeleting(id);
  });

  test("is retried by the same worker after its database connection breaks", async () => {
    await startWorker();
    const { id } = await exports.start(wide, ids);
    await waitFor("rows to be read", async () => ((await exports.job(id))?.exportedRows ?? 0) > 0);
    const { rowCount } = await exports.service.database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and query like 'select u.place, r.* from own_export_products(%'`,
    );
    expect(rowCount).toBe(1);
    const waiting = await waitFor("the attempt to fail", async () => {
      const job = await exports.job(id);
      return job?.errorMessage ? job : undefined;
    });
    expect(waiting).toMatchObject({
      status: "queued",
      errorMessage: "The file could not be written (it will be retried)",
    });
    await runNextAttempt(id);
    expect(await exports.reaches(id, ["completed"])).toMatchObject({ exportedRows: count });
    await expectOneFile(id);
  });

  test("does not delay other jobs, even at the maximum concurrency", async () => {
    const { pool } = exports.service.database;
    // More users than the worker has slots.
    const started: { id: string; token: string }[] = [];
    while (started.length < 4) {
      const { token } = await exports.service.login([
        ...["exports.create", "exports.read", "products.read"],
      ]);
      started.push({ id: (await exports.start(wide, ids, token)).id, token });
    }
    // No export ends before it is observed, however slow this process is.
    proxy.blackHole();
    const worker = await exports.startWorker(
      { ...exports.files.env(proxy.url), WORKER_CONCURRENCY: "3" },
      { constants: { files: { timeoutMs: 60_000 } } },
    );
    const running = async () => {
      const { rows } = await pool.query<{ count: number }>(
        "select count(*)::integer as count from export_jobs where state = 'running' and id = any ($1)",
        [started.map(({ id }) => id)],
      );
      return rows[0]?.count ?? 0;
    };
    await waitFor("two exports to run", async () => (await running()) === 2);
    await pool.query("select enqueue_job('expire_invitations', '{}')");
    await waitFor("the other job", () => worker.output().includes("invitations expired"));
    expect(await running()).toBe(2);
    for (const { id, token } of started)
      await exports.service.ask("mutation ($id: ID!) { deleteExportJob(id: $id) }", {
        token,
        variables: { id },
      });
    await proxy.restore();
    await runFileDeletions();
    await waitFor("nothing to be left", async () => {
      const { files, unfinished } = await exports.files.content();
      return files.length + unfinished.length === 0;
    });
  });
});
