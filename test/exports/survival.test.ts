import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "csv-parse/sync";
import { waitFor } from "../helpers/waitFor.ts";
import {
  resetLongExports,
  count,
  expectNothingAfterDeleting,
  expectOneFile,
  exports,
  ids,
  proxy,
  runFileDeletions,
  startLongExports,
  startWorker,
  stopLongExports,
  wide,
} from "../helpers/exports/longExports.ts";

beforeAll(startLongExports);
afterEach(resetLongExports);
afterAll(stopLongExports);

/** When the worker is killed: by rows read or by bytes stored. */
const moments: [string, (id: string) => Promise<boolean>][] = [
  ["has just started", async (id) => (await exports.job(id))?.status === "running"],
  ["reads rows", async (id) => ((await exports.job(id))?.exportedRows ?? 0) > 500],
  ["has sent a part", async () => (await exports.files.content()).unfinished.length > 0],
  [
    "has finished the file, maybe not yet the record",
    async (id) => (await exports.files.content()).files.some((key) => key.includes(id)),
  ],
];

describe("a killed worker", () => {
  test.each(moments)("is replaced when it %s: exactly one file remains", async (_when, reached) => {
    const first = await startWorker();
    const { id } = await exports.start(wide, ids);
    await waitFor("the moment", () => reached(id));
    first.signal("SIGKILL");
    await first.exited;
    await startWorker();
    const job = await exports.reaches(id, ["completed"]);
    expect(job).toMatchObject({ totalRows: count, exportedRows: count, errorMessage: null });
    await expectOneFile(id);
  });

  test("is replaced while it writes CSV: the file is complete", async () => {
    const first = await startWorker();
    const { id } = await exports.startWith({ templateId: wide, productIds: ids, format: "CSV" });
    await waitFor(
      "rows to be read",
      async () => ((await exports.job(id))?.exportedRows ?? 0) > 500,
    );
    first.signal("SIGKILL");
    await first.exited;
    await startWorker();
    expect(await exports.reaches(id, ["completed"])).toMatchObject({ exportedRows: count });
    await runFileDeletions();
    const { files, unfinished } = await exports.files.content();
    expect([files, unfinished]).toEqual([[`backoffice/exports/${id}/2.csv`], []]);
    const rows = parse(await exports.bytes(id), { bom: true, record_delimiter: "\r\n" });
    expect(rows).toHaveLength(count + 1);
    expect(rows.at(-1)?.[0]).toBe(String(count).padStart(6, "0"));
    await expectNothingAfterDeleting(id);
  });

  test("fails the export after repeated deaths, with a reason and without a file", async () => {
    const { pool } = exports.service.database;
    const { id } = await exports.start(wide, ids);
    for (let death = 0; death < 3; death++) {
      const worker = await startWorker();
      await waitFor("the export to run", async () => {
        const { rowCount } = await pool.query(
          `select from graphile_worker._private_jobs j join export_jobs e on e.queue_job_id = j.id
           where e.id = $1 and j.locked_at is not null and e.state = 'running' and e.attempt = $2`,
          [id, death + 1],
        );
        return rowCount === 1;
      });
      worker.signal("SIGKILL");
      await worker.exited;
    }
    await startWorker();
    await waitFor("the queue to give up", async () => {
      const { rows } = await pool.query<{ over: boolean }>(
        "select attempts >= max_attempts and locked_at is null as over from graphile_worker._private_jobs j join export_jobs e on e.queue_job_id = j.id where e.id = $1",
        [id],
      );
      return rows[0]?.over;
    });
    const job = await waitFor("the export to fail", async () => {
      const found = await exports.job(id);
      return found?.status === "failed" && found;
    });
    expect(job.errorMessage).toBe("Its worker process ended repeatedly");
    await runFileDeletions();
    expect(await exports.files.content()).toEqual({ files: [], unfinished: [] });
  });

  test("that stops cleanly requeues its export without consuming an attempt", async () => {
    const first = await exports.startWorker({
      ...exports.files.env(proxy.url),
      SHUTDOWN_TIMEOUT_SECONDS: "1",
    });
    const { id } = await exports.start(wide, ids);
    await waitFor("rows to be read", async () => ((await exports.job(id))?.exportedRows ?? 0) > 0);
    first.signal("SIGTERM");
    expect(await first.exited).toBe(0);
    await startWorker();
    expect(await exports.reaches(id, ["completed"])).toMatchObject({ exportedRows: count });
    await expectOneFile(id);
  });
});
