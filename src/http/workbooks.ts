import { Readable } from "node:stream";
import express, { Router } from "express";
import type { Request, RequestHandler } from "express";
import type { ClientBase, Pool } from "pg";
import { inRequestTransaction } from "../auth/requestTransaction.ts";
import type { RequestSettings } from "../auth/identity.ts";
import { workbookType } from "../gateways/files.ts";
import type { FileStore } from "../gateways/files.ts";
import { isStorable } from "../graphql/literals.ts";
import { checkGuard } from "../auth/guards.ts";
import type { ExportedFields } from "../plugins/ExportFieldsPlugin.ts";
import { productsEntity } from "../schema/exportedTables.ts";
import { sha256 } from "../uploads/sha256.ts";
import type { UploadReader } from "../uploads/uploadReader.ts";
import { TemplateError } from "../xlsx/template/problems.ts";
import type { FieldKind } from "../xlsx/values.ts";
import { badRequest, type HttpError, tooLarge, unsupportedMediaType } from "../errors/HttpError.ts";
import { requestContextOf } from "./requestInfo.ts";

interface WorkbooksOptions {
  pool: Pool;
  settings: RequestSettings;
  files: FileStore;
  uploads: UploadReader;
  limitBytes: number;
  exportedFields: ExportedFields;
  readRequestContext: RequestHandler[];
}

type Kind = "FORM" | "TABLE";

/**
 * `POST /exports/workbooks?kind=TABLE&name=Prices.xlsx&entity=orders` with the file as the body: stores a workbook with
 * `{{field}}` placeholders for `createExportTemplate(input: {entity, workbookId})`. An invalid workbook is rejected with a
 * list of its cells.
 */
export function workbooks(options: WorkbooksOptions): Router {
  const { pool, settings, files, uploads, limitBytes, exportedFields } = options;
  const router = Router();

  const guard: RequestHandler = (request, response, next) => {
    checkGuard(["exporttemplates.update"], requestContextOf(response.locals));
    const { entity } = readQuery(request);
    if (entity !== productsEntity) exportedFields(entity);
    if (!request.is([workbookType, "application/octet-stream"]))
      throw unsupportedMediaType(`Send the workbook as Content-Type: ${workbookType}`);
    // The body reader would answer only after the whole body.
    if (Number(request.headers["content-length"]) > limitBytes) throw tooLarge();
    next();
  };

  router.post(
    "/exports/workbooks",
    ...options.readRequestContext,
    guard,
    express.raw({ type: () => true, limit: limitBytes, inflate: false }),
    async (request, response) => {
      const requestContext = requestContextOf(response.locals);
      const body: unknown = request.body;
      if (!Buffer.isBuffer(body) || body.length === 0)
        throw badRequest("The body is empty: send the workbook's bytes");
      const { entity, kind, name } = readQuery(request);
      const run = <T>(work: Parameters<typeof inRequestTransaction<T>>[4]) =>
        inRequestTransaction(pool, requestContext, settings, "caller", work);

      const fields = await run(async (client) => {
        const label = await client.query<{ fits: boolean }>("select is_label($1, 200) as fits", [
          name,
        ]);
        if (!label.rows[0]?.fits) throw wrongName();
        const known =
          entity === productsEntity ? await productFields(client, kind) : exportedFields(entity);
        return known.map((one) => [one.field, one.kind.toLowerCase() as FieldKind] as const);
      });
      const { placeholders, problems, problemCount } = await uploads.checkWorkbook({
        bytes: body,
        fields,
        hasPrices: entity === productsEntity,
        kind,
      });
      if (problemCount > 0) {
        const { message } = new TemplateError(problems, problemCount);
        throw badRequest(message, { problems, problemCount });
      }

      const place = await run(async (client) => {
        const { rows } = await client.query<{ id: string; key: string }>(
          "select * from begin_workbook($1)",
          [kind],
        );
        return rows[0] ?? { id: "", key: "" };
      });
      await files.write(place.key, Readable.from([body]), AbortSignal.timeout(60_000));
      const fileSha256 = await sha256(body);
      await run((client) =>
        client.query("select finish_workbook($1, $2, $3, $4, $5, $6, $7)", [
          ...[place.id, entity, kind, name, body.length, fileSha256],
          [...new Set(placeholders.map(({ field }) => field))],
        ]),
      );
      response.status(201).setHeader("Cache-Control", "no-store").json({
        workbookId: place.id,
        entity,
        kind,
        fileName: name,
        fileSize: body.length,
        fileSha256,
        placeholders,
      });
    },
  );
  return router;
}

async function productFields(client: ClientBase, kind: Kind) {
  const { rows } = await client.query<{ field: string; kind: Uppercase<FieldKind> }>(
    "select field, kind_of_field as kind from placeholder_fields($1)",
    [kind],
  );
  return rows;
}

function readQuery(request: Request): { entity: string; kind: Kind; name: string } {
  const { entity = productsEntity, kind, name } = request.query;
  if (typeof entity !== "string")
    throw badRequest("entity must be the name of one list", { path: ["entity"] });
  if (kind !== "FORM" && kind !== "TABLE")
    throw badRequest("kind must be FORM or TABLE", { path: ["kind"] });
  if (typeof name !== "string" || name.trim() === "" || !isStorable(name)) throw wrongName();
  return { entity, kind, name: name.trim() };
}

function wrongName(): HttpError {
  return badRequest("name must be the file's name, 1 to 200 visible characters", {
    path: ["name"],
  });
}
