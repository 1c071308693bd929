import { expect } from "@jest/globals";
import type { Proxy } from "../proxy.ts";
import { startProxy } from "../proxy.ts";
import { waitFor } from "../waitFor.ts";
import { endWorkers } from "../workers/workerProcess.ts";
import { readParts } from "../xlsx/readers.ts";
import { type ExportService, startExportService } from "./exportService.ts";

/** The number of products in {@link ids}. */
export const count = 4_000;

export let exports: ExportService;
/** A proxy in front of the object store. */
export let proxy: Proxy;
/** Products whose workbook takes seconds and is stored in several parts. */
export let ids: string[];
/** A template with the long description column. */
export let wide: string;

/** Starts the service whose exports take seconds. Call in `beforeAll`. */
export async function startLongExports(): Promise<void> {
  exports = await startExportService({ EXPORT_CONCURRENCY: "2" });
  proxy = await startProxy(exports.files.url);
  ids = await exports.addProducts(count);
  // Incompressible texts, so that the upload has several parts.
  await exports.service.database.pool.query(
    `update products set description = (
       select string_agg(encode(sha512((products.id::text || n)::bytea), 'base64'), '') from generate_series(1, 60) as n)`,
  );
  wide = await exports.makeTemplate(
    "TABLE",
    ["erpProductNumber", "name", "description"].map((field) => ({ field })),
  );
}

/** Ends the workers and restores the proxy. Call in `afterEach`. */
export async function resetLongExports(): Promise<void> {
  await endWorkers();
  await proxy.restore();
}

export async function stopLongExports(): Promise<void> {
  await proxy.stop();
  await exports.stop();
}

export const startWorker = () => exports.startWorker(exports.files.env(proxy.url));

/** Runs pending file deletions now and waits until none is left. */
export async function runFileDeletions(): Promise<void> {
  const { pool } = exports.service.database;
  await waitFor("the files to be removed", async () => {
    await pool.query(
      `update graphile_worker._private_jobs set run_at = now() where run_at > now() and locked_at is null
         and payload ->> 'tenant' = 'backoffice'`,
    );
    const { rows } = await pool.query<{ left: number }>(
      "select count(*)::integer as left from stored_files where delete_after is not null and removed_at is null",
    );
    return rows[0]?.left === 0;
  });
}

/** Runs the next attempt of an export now. */
export const runNextAttempt = (id: string) =>
  exports.service.database.pool.query(
    `update graphile_worker._private_jobs set run_at = now()
     where payload -> 'input' ->> 'jobId' = $1 and locked_at is null`,
    [id],
  );

/** The rows of a finished workbook as XML, because parsing large ones is slow. */
export async function rowsOf(id: string): Promise<string[]> {
  const parts = await readParts(await exports.bytes(id));
  return parts.get("xl/worksheets/sheet1.xml")?.toString().split("<row ").slice(1) ?? [];
}

export async function expectOneFile(id: string): Promise<void> {
  await runFileDeletions();
  const { files, unfinished } = await exports.files.content();
  expect(unfinished).toEqual([]);
  expect(files.filter((key) => key.includes(id))).toHaveLength(1);
  const rows = await rowsOf(id);
  expect(rows).toHaveLength(count + 1);
  expect(rows.at(-1)).toContain(`<t>${String(count).padStart(6, "0")}</t>`);
  await expectNothingAfterDeleting(id);
}

export async function expectNothingAfterDeleting(id: string): Promise<void> {
  expect(
    await exports.service.ask("mutation ($id: ID!) { deleteExportJob(id: $id) }", {
      token: exports.exporter.token,
      variables: { id },
    }),
  ).toMatchObject({ data: { deleteExportJob: true } });
  await runFileDeletions();
  expect(await exports.files.content()).toEqual({ files: [], unfinished: [] });
}
