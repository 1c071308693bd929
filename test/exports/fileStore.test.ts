import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { waitFor } from "../helpers/waitFor.ts";
import {
  resetLongExports,
  expectOneFile,
  exports,
  runNextAttempt,
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

describe("when the file store is", () => {
  const startQuickWorker = () =>
    exports.startWorker(exports.files.env(proxy.url), {
      constants: { files: { timeoutMs: 2_000 } },
    });

  test("unreachable, an export shows the reason, is retried, and completes later", async () => {
    await startQuickWorker();
    await proxy.cut();
    const { id } = await exports.start(wide, ids);
    const waiting = await waitFor("the first failure", async () => {
      const job = await exports.job(id);
      return job?.errorMessage ? job : undefined;
    });
    expect(waiting).toMatchObject({
      status: "queued",
      exportedRows: 0,
      errorMessage: "The file store cannot be reached (it will be retried)",
    });
    await proxy.restore();
    await runNextAttempt(id);
    expect(await exports.reaches(id, ["completed"])).toMatchObject({ errorMessage: null });
    await expectOneFile(id);
  });

  test("cut off during an upload, exactly one file remains", async () => {
    await startQuickWorker();
    const { id } = await exports.start(wide, ids);
    await waitFor(
      "a part to be sent",
      async () => (await exports.files.content()).unfinished.length > 0,
    );
    await proxy.cut();
    await waitFor("the failure", async () => (await exports.job(id))?.errorMessage ?? undefined);
    await proxy.restore();
    await runNextAttempt(id);
    await exports.reaches(id, ["completed"]);
    await expectOneFile(id);
  });

  test("unreachable for long, an export fails with a reason for users", async () => {
    await startQuickWorker();
    await proxy.cut();
    const { id } = await exports.start(wide, ids);
    const failed = await waitFor("the export to fail", async () => {
      await runNextAttempt(id);
      const job = await exports.job(id);
      return job?.status === "failed" && job;
    });
    expect(failed.errorMessage).toBe(
      "The file store cannot be reached (given up after 5 attempts)",
    );
    expect((await exports.download(id)).body.error).toMatchObject({
      code: "CONFLICT",
      message: `The export failed: ${failed.errorMessage}`,
    });
    await proxy.restore();
    await runFileDeletions();
    expect(await exports.files.content()).toEqual({ files: [], unfinished: [] });
  });
});

describe("the retention period", () => {
  test("ends a file: its download stops at once, and it is deleted", async () => {
    await startWorker();
    const { pool } = exports.service.database;
    const { id } = await exports.start(wide, ids.slice(0, 3));
    await exports.reaches(id, ["completed"]);
    await pool.query("update export_jobs set expires_at = now() where id = $1", [id]);
    const expired = async () => {
      expect((await exports.job(id))?.status).toBe("expired");
      const { status, body } = await exports.download(id);
      expect([status, body.error?.message]).toEqual([
        410,
        "The file is not kept any more: start the export again",
      ]);
    };
    await expired();
    expect((await exports.files.content()).files).toHaveLength(1);
    await pool.query("select enqueue_job('clean_exports', '{}')");
    await waitFor("the file to go", async () => (await exports.files.content()).files.length === 0);
    await expired();
  });

  test("deletes the other files when the store cannot delete one", async () => {
    const worker = await startWorker();
    const { pool } = exports.service.database;
    const store = exports.files.store();
    const never = new AbortController().signal;
    const files = ["backoffice/exports/y/1.xlsx", "backoffice/exports/y/2.xlsx"];
    // The name is longer than the store's file system takes.
    const stuck = `backoffice/exports/${"x".repeat(300)}`;
    for (const key of files) await store.write(key, Readable.from([Buffer.from("x")]), never);
    store.close();
    await pool.query(
      `insert into stored_files (key, delete_after) select key, now() - place * interval '1 hour'
       from unnest($1::text[]) with ordinality as f(key, place)`,
      [[...files, stuck]],
    );
    await pool.query("select enqueue_job('remove_files', '{}')");
    await waitFor(
      "the files to go",
      async () => (await exports.files.content()).files.length === 0,
    );
    await waitFor("the failure in the log", () =>
      /1 of \d+ files could not be removed/.test(worker.output()),
    );
    const { rows } = await pool.query<{ key: string; postponed: boolean }>(
      "select key, delete_after > now() - interval '30 minutes' as postponed from stored_files where key = any ($1) order by key",
      [[...files, stuck]],
    );
    expect(rows).toEqual([
      { key: stuck, postponed: true },
      ...files.map((key) => ({ key, postponed: false })),
    ]);
    await pool.query("delete from stored_files where key = any ($1)", [[...files, stuck]]);
  });

  test("deletes a file a second time a quarter of an hour later, also when two tasks read one batch", async () => {
    const { pool } = exports.service.database;
    const key = "backoffice/exports/z/1.xlsx";
    await pool.query("insert into stored_files (key, delete_after) values ($1, now())", [key]);
    const known = async () => {
      const { rows } = await pool.query<{ found: boolean }>(
        "select exists (select from stored_files where key = $1) as found",
        [key],
      );
      return rows[0]?.found;
    };
    const record = () => pool.query("select record_file_removed($1)", [key]);
    await record();
    await record();
    expect(await known()).toBe(true);
    await pool.query(
      "update stored_files set removed_at = now() - interval '16 minutes' where key = $1",
      [key],
    );
    await record();
    expect(await known()).toBe(false);
  });

  test("deletes orphaned files, but no recent ones and none of other schemas", async () => {
    const worker = await startWorker();
    const { pool } = exports.service.database;
    const kept = await exports.start(wide, ids.slice(0, 3));
    await exports.reaches(kept.id, ["completed"]);
    const store = exports.files.store();
    const never = new AbortController().signal;
    for (const key of [
      "backoffice/exports/x/1.xlsx",
      "backoffice/workbooks/x.xlsx",
      "elsewhere/exports/x/1.xlsx",
    ])
      await store.write(key, Readable.from([Buffer.from("x")]), never);
    const before = (await exports.files.content()).files;
    const clean = async () => {
      const settledBefore = worker.output().split("exports settled").length;
      await pool.query("select enqueue_job('clean_exports', '{}')");
      await waitFor("the cleaning", async () => {
        const { rowCount } = await pool.query(
          "select from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id where t.identifier = 'clean_exports'",
        );
        return rowCount === 0 && worker.output().split("exports settled").length > settledBefore;
      });
    };
    await clean();
    expect((await exports.files.content()).files).toEqual(before);
    await exports.files.age("backoffice/exports/x/1.xlsx");
    await exports.files.age("backoffice/workbooks/x.xlsx");
    await exports.files.age("elsewhere/exports/x/1.xlsx");
    await clean();
    expect((await exports.files.content()).files).toEqual(
      before.filter((key) => key !== "backoffice/exports/x/1.xlsx"),
    );
    store.close();
  });
});
