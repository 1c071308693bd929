import { Router } from "express";
import type { Pool } from "pg";
import type { RequestHandler } from "express";
import { inRequestTransaction } from "../auth/requestTransaction.ts";
import type { RequestSettings } from "../auth/identity.ts";
import type { FileStore } from "../gateways/files.ts";
import { checkGuard } from "../auth/guards.ts";
import { isUuid, storedId } from "../postgres/uuid.ts";
import { HttpError } from "../errors/HttpError.ts";
import { requestContextOf } from "./requestInfo.ts";
import { type PublicError, conflict, missingPermission, notFound } from "../errors/PublicError.ts";

interface DownloadsOptions {
  pool: Pool;
  settings: RequestSettings;
  files: FileStore;
  /** How long a link is valid. */
  linkSeconds: number;
  /** Authenticates the request, finds its tenant and counts it. */
  readRequestContext: RequestHandler[];
}

interface Export {
  status: string;
  source: string;
  format: string;
  file_key: string | null;
  /** The day of its end in the caller's time zone. */
  finished_on: string | null;
  error_message: string | null;
  /** Of each item, permissions separated by spaces, one is needed. */
  needed_permissions: string[];
}

/** `GET /exports/<id>/download`: a short-lived link to a finished export of the caller; browsers are sent there. */
export function downloads(options: DownloadsOptions): Router {
  const { pool, settings, files, linkSeconds, readRequestContext } = options;
  const router = Router();
  router.get("/exports/:id/download", ...readRequestContext, async (request, response) => {
    const requestContext = requestContextOf(response.locals);
    checkGuard(["exports.read"], requestContext);
    const { id } = request.params;
    if (!isUuid(id)) throw missing();
    const url = await inRequestTransaction(
      pool,
      requestContext,
      settings,
      "caller",
      async (client) => {
        const { rows } = await client.query<Export>(
          `select export_jobs_status(j) as status, j.source, j.format, j.file_key, j.error_message, j.needed_permissions,
             to_char(j.finished_at at time zone own_time_zone(), 'YYYY-MM-DD') as finished_on
         from export_jobs j where j.id = $1`,
          [id],
        );
        const [job] = rows;
        if (!job) throw missing();
        for (const oneOf of job.needed_permissions.map((keys) => keys.split(" ")))
          if (!oneOf.some((key) => requestContext.identity?.permissions.has(key)))
            throw missingPermission(oneOf[0] ?? "");
        const link = await files.link(requireFile(job), {
          fileName: fileNameOf(job),
          seconds: linkSeconds,
        });
        await client.query("select record_read('ExportJob', $1, $2)", [
          storedId(id),
          { field: "download", rows: 1 },
        ]);
        return link;
      },
    );
    response.setHeader("Cache-Control", "no-store").vary("Accept");
    // A browser that follows a link gets the file, and a program its address.
    if (request.accepts(["json", "html"]) === "html") response.redirect(303, url);
    else response.json({ url });
  });
  return router;
}

/** The same error for an unknown export and for another user's. */
function missing(): PublicError {
  return notFound("There is no export with this id");
}

function requireFile({ status, file_key: key, error_message: error }: Export): string {
  if (status === "completed" && key !== null) return key;
  if (status === "expired")
    throw new HttpError(410, "CONFLICT", "The file is not kept any more: start the export again", {
      status,
    });
  const reason =
    status === "failed"
      ? `The export failed: ${error ?? "nobody knows why"}`
      : status === "cancelled"
        ? "The export was cancelled"
        : `The export is ${status}: its file is not ready yet`;
  throw conflict(reason, { status });
}

/** The file name for the browser: the template's name and the day, without characters that file systems reject. */
function fileNameOf({ source, format, finished_on: day }: Export): string {
  const name = source.replace(/[\\/:*?"<>|]+/g, "-").trim();
  return `${name} ${day ?? ""}.${format}`;
}
