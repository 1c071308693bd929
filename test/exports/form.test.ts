import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import ExcelJS from "exceljs";
import { localCertificate } from "../helpers/certificate.ts";
import { packageProblems } from "../helpers/xlsx/packageProblems.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { hostileBook } from "../helpers/xlsx/template/hostileBooks.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";
import type { ExportService } from "../helpers/exports/exportService.ts";
import { startExportService } from "../helpers/exports/exportService.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let exports: ExportService;
let host: string;
let folder: string;
let server: ReturnType<typeof createServer>;
let ids: string[];

beforeAll(async () => {
  const certificate = await localCertificate();
  folder = await mkdtemp(join(tmpdir(), "certificate-"));
  await writeFile(join(folder, "cert.pem"), certificate.cert);
  server = createServer(certificate, (request, response) => {
    if (request.url === "/wine.png") response.end(png);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host = `localhost:${(server.address() as AddressInfo).port}`;
  exports = await startExportService();
  ids = await exports.addProducts(4);
  const { pool } = exports.service.database;
  await pool.query(
    `update products set producer = '=1+1', description = 'Dark & deep', alcohol_percent = 13.5 where id = $1`,
    [ids[0]],
  );
  // A public host name for this machine would need a DNS server.
  await pool.query("alter table product_images drop constraint product_images_url_public_check");
  await pool.query(`insert into product_images (product_id, url) values ($1, $3), ($2, $4)`, [
    ids[0],
    ids[1],
    `https://${host}/wine.png`,
    `https://${host}/gone.png`,
  ]);
  await pool.query(
    `with r as (insert into reviewers (name) values ('Ann') returning id)
     insert into product_ratings (product_id, reviewer_id, year, points, review) select $1, id, 2020, 91, 'Fine' from r`,
    [ids[0]],
  );
  await exports.startWorker(
    { EXPORT_IMAGE_HOSTS: host },
    { nodeEnvironment: { NODE_EXTRA_CA_CERTS: join(folder, "cert.pem") } },
  );
});
afterAll(async () => {
  await endWorkers();
  await exports.stop();
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

/** The values of a form by their labels. */
function linesOf(sheet: ExcelJS.Worksheet | undefined): Record<string, unknown> {
  const lines: Record<string, unknown> = {};
  sheet?.eachRow((row) => (lines[row.getCell(1).text] = row.getCell(2).value));
  return lines;
}

describe("the tasting sheet", () => {
  test("shows one wine with its picture and ratings", async () => {
    const template = await exports.templateId("Tasting sheet");
    const { id } = await exports.start(template, ids.slice(0, 1));
    const job = await exports.reaches(id, ["completed"]);
    expect(job).toMatchObject({ totalRows: 1, exportedRows: 1, notes: [] });
    const workbook = await exports.open(id);
    const sheet = workbook.getWorksheet("Tasting sheet");
    expect(linesOf(sheet)).toEqual({
      ...{ Wine: "Wine 1", Picture: null, Vintage: 1991, Type: null, Producer: "=1+1" },
      ...{ Grapes: null, Country: null, Region: null, "Alcohol, %": 13.5 },
      ...{ Description: "Dark & deep", "Average rating": 91, Ratings: 1 },
      ...{ "All ratings": "Ann, 2020: 91", "Latest review": "Fine" },
    });
    const [image, ...others] = sheet?.getImages() ?? [];
    expect(others).toEqual([]);
    expect(image?.range.tl).toMatchObject({ nativeCol: 1, nativeRow: 1 });
    const media = workbook.getImage(Number(image?.imageId));
    expect(new Uint8Array(media.buffer ?? new ArrayBuffer(0))).toEqual(new Uint8Array(png));
    expect(await packageProblems(await exports.bytes(id))).toEqual([]);
  });

  test("leaves an unavailable picture empty and notes the reason", async () => {
    const template = await exports.templateId("Tasting sheet");
    const { id } = await exports.start(template, ids.slice(1, 2));
    const job = await exports.reaches(id, ["completed"]);
    expect(job.notes).toEqual(["Picture: left empty, its host answers 404"]);
    const sheet = (await exports.open(id)).worksheets[0];
    expect(linesOf(sheet)).toMatchObject({ Wine: "Wine 2", Picture: null });
    expect(sheet?.getImages()).toEqual([]);
  });
});

/** A typical workbook of staff, with more than placeholders. */
async function makeWorkbook(cells: Record<string, string>): Promise<Buffer> {
  const workbook = new ExcelJS.Workbook();
  const sheet = workbook.addWorksheet("Prices");
  for (const [cell, text] of Object.entries(cells)) sheet.getCell(cell).value = text;
  sheet.getCell("C2").numFmt = '#,##0.00" kr"';
  sheet.getCell("A1").font = { bold: true };
  workbook.addWorksheet("Terms").getCell("A1").value = "All prices with VAT";
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

const xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const upload = async (
  body: Buffer | string,
  query = "kind=TABLE&name=Prices.xlsx",
  headers: Record<string, string> = {},
) => {
  const response = await fetch(`${exports.service.url}/exports/workbooks?${query}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${exports.exporter.token}`,
      "content-type": xlsx,
      ...headers,
    },
    body: typeof body === "string" ? body : new Uint8Array(body),
  });
  return {
    status: response.status,
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- read like an untyped client
    body: (await response.json()) as any,
  };
};
const makeFrom = (workbookId: string, kind = "TABLE") =>
  exports.service.ask(
    "mutation ($input: CreateExportTemplateInput!) { createExportTemplate(input: $input) { id kind columns { field } workbook { fileName fileSize fileSha256 fields } } }",
    {
      token: exports.exporter.token,
      variables: { input: { name: `From ${workbookId}`, kind, workbookId } },
    },
  );

describe("an uploaded workbook", () => {
  test("repeats its row for each product and keeps everything else", async () => {
    const bytes = await makeWorkbook({
      ...{ A1: "Wine", B1: "Vintage", C1: "Price", A4: "The end" },
      ...{ A2: "{{name}} ({{erpProductNumber}})", B2: "{{vintage}}", C2: "{{prices.retail.DKK}}" },
    });
    const { pool } = exports.service.database;
    await pool.query(
      "insert into product_prices (product_id, type, currency, amount) values ($1, 'retail', 'DKK', 99.5)",
      [ids[2]],
    );
    const sent = await upload(bytes);
    expect(sent).toMatchObject({
      status: 201,
      body: { kind: "TABLE", fileName: "Prices.xlsx", fileSize: bytes.length },
    });
    expect(sent.body.placeholders).toContainEqual({
      sheet: "Prices",
      cell: "B2",
      field: "vintage",
    });
    const made = await makeFrom(sent.body.workbookId);
    expect(made.data.createExportTemplate).toMatchObject({
      columns: [],
      workbook: {
        fileName: "Prices.xlsx",
        fileSha256: sent.body.fileSha256,
        fields: ["name", "erpProductNumber", "vintage", "prices.retail.DKK"],
      },
    });
    const { id } = await exports.start(made.data.createExportTemplate.id, [
      ids[2] ?? "",
      ids[0] ?? "",
      ids[1] ?? "",
    ]);
    await exports.reaches(id, ["completed"]);
    const workbook = await exports.open(id);
    const sheet = workbook.getWorksheet("Prices");
    const rows = [1, 2, 3, 4, 5, 6].map((row) =>
      ["A", "B", "C"].map((column) => sheet?.getCell(`${column}${row}`).value),
    );
    expect(rows).toEqual([
      ["Wine", "Vintage", "Price"],
      ["Wine 3 (000003)", 1993, 99.5],
      ["Wine 1 (000001)", 1991, null],
      ["Wine 2 (000002)", 1992, null],
      [null, null, null],
      ["The end", null, null],
    ]);
    expect(sheet?.getCell("C3").numFmt).toBe('#,##0.00" kr"');
    expect(workbook.getWorksheet("Terms")?.getCell("A1").value).toBe("All prices with VAT");
  });

  test("can be a form with a picture", async () => {
    const bytes = await makeWorkbook({ A1: "{{name}}", B1: "{{image}}", A2: "{{alcoholPercent}}" });
    const sent = await upload(bytes, "kind=FORM&name=Form.xlsx");
    const made = await makeFrom(sent.body.workbookId, "FORM");
    const { id } = await exports.start(made.data.createExportTemplate.id, ids.slice(0, 1));
    await exports.reaches(id, ["completed"]);
    const sheet = (await exports.open(id)).worksheets[0];
    expect([sheet?.getCell("A1").value, sheet?.getCell("A2").value]).toEqual(["Wine 1", 13.5]);
    expect(sheet?.getImages()).toHaveLength(1);
  });

  test.each<[string, () => Promise<Buffer>, string, string]>([
    [
      "an unknown field",
      () => makeWorkbook({ A2: "{{name}}", B2: "{{vintgae}}" }),
      "kind=TABLE&name=a.xlsx",
      "Prices!B2: ",
    ],
    [
      "a picture in a table",
      () => makeWorkbook({ A2: "{{image}}" }),
      "kind=TABLE&name=a.xlsx",
      "Prices!A2: ",
    ],
    ["no placeholder", () => makeWorkbook({ A1: "Wine" }), "kind=FORM&name=a.xlsx", ""],
    [
      "a file that is not a workbook",
      () => Promise.resolve(Buffer.from("nonsense")),
      "kind=FORM&name=a.xlsx",
      "",
    ],
  ])("is rejected for %s with the cell, and not stored", async (_what, make, query, start) => {
    const before = await exports.files.content();
    const { status, body } = await upload(await make(), query);
    expect([status, body.error.code]).toEqual([400, "BAD_USER_INPUT"]);
    expect(body.error.message.startsWith(start)).toBe(true);
    expect(body.error.problems.length).toBeGreaterThan(0);
    expect(await exports.files.content()).toEqual(before);
  });

  test("is rejected with its first 20 problems and their number", async () => {
    const bytes = await hostileBook("cells with one misspelt placeholder").make(1_000);
    const { status, body } = await upload(bytes);
    expect(status).toBe(400);
    expect(body.error.problems).toHaveLength(20);
    expect(body.error.problemCount).toBe(1_000);
    expect(body.error.message).toMatch(
      /^S!A2: There is no field nmae( \(did you mean .*\))?; .*; and 980 more problems$/,
    );
  });

  test("is rejected for a wrong kind, name, type or size, or a missing permission", async () => {
    const bytes = await makeWorkbook({ A2: "{{name}}" });
    for (const [status, query, headers] of [
      [400, "name=a.xlsx", {}],
      [400, "kind=table&name=a.xlsx", {}],
      [400, "kind=TABLE", {}],
      [400, "kind=TABLE&kind=FORM&name=a.xlsx", {}],
      [415, undefined, { "content-type": "application/json" }],
      [415, undefined, { "content-encoding": "gzip" }],
      [401, undefined, { authorization: "" }],
    ] as const)
      expect([query, (await upload(bytes, query, { ...headers })).status]).toEqual([query, status]);
    const reader = await exports.service.login(["exports.read"]);
    const refused = await upload(bytes, undefined, { authorization: `Bearer ${reader.token}` });
    expect([refused.status, refused.body.error.message]).toEqual([
      403,
      "Missing required permission: exporttemplates.update",
    ]);
    expect((await upload(Buffer.alloc(10_485_761))).status).toBe(413);
    expect((await upload("")).status).toBe(400);
    for (const name of ["x".repeat(201), "a%00.xlsx", "%E3%85%A4"])
      expect((await upload(bytes, `kind=TABLE&name=${name}`)).body.error).toMatchObject({
        message: "name must be the file's name, 1 to 200 visible characters",
        path: ["name"],
      });
  });

  test("is deleted seven days after its last template, or after a day when no template used it", async () => {
    const { pool } = exports.service.database;
    const bytes = await makeWorkbook({ A2: "{{name}}" });
    const keys = async () =>
      (await exports.files.content()).files.filter((key) =>
        key.startsWith("backoffice/workbooks/"),
      );
    const before = await keys();
    const { workbookId } = (await upload(bytes)).body;
    const made = await makeFrom(workbookId);
    expect(await keys()).toHaveLength(before.length + 1);
    const ask = (query: string, variables: Record<string, unknown>) =>
      exports.service.ask(query, { token: exports.exporter.token, variables });
    const id = made.data.createExportTemplate.id as string;
    await pool.query(
      "update export_workbooks set created_at = now() - interval '25 hours' where id = $1",
      [workbookId],
    );
    const remove = async () => {
      const { data } = await ask("mutation ($id: ID!) { deleteExportTemplate(id: $id) }", { id });
      expect(data).toEqual({ deleteExportTemplate: true });
      const { rows } = await pool.query<{ id: string }>(
        "select id from audit_log where entity_id = $1 and operation = 'DELETE' order by created_at desc limit 1",
        [id],
      );
      return rows[0]!.id;
    };
    const deletion = await remove();
    const { rows: cleaned } = await pool.query<{ number: number }>(
      "select unused_workbooks as number from reconcile_exports()",
    );
    expect(cleaned).toEqual([{ number: 0 }]);
    expect(
      (await ask("mutation ($id: ID!) { restore(auditLogId: $id) }", { id: deletion })).data,
    ).toEqual({ restore: 1 });
    const restored = await ask(
      "query ($id: ID!) { exportTemplate(id: $id) { workbook { id fileName } } }",
      { id },
    );
    expect(restored.data.exportTemplate.workbook.id).toBe(workbookId);
    await remove();
    await pool.query(
      `alter table audit_log disable trigger user;
       update audit_log set created_at = created_at - interval '8 days' where entity_id = '${id}';
       alter table audit_log enable trigger user`,
    );
    await waitFor("the workbook to go", async () => {
      await pool.query("select enqueue_job('clean_exports', '{}')");
      return (await keys()).length === before.length;
    });

    const unused = (await upload(bytes)).body.workbookId as string;
    await pool.query("select enqueue_job('clean_exports', '{}')");
    await pool.query(
      "update export_workbooks set created_at = now() - interval '25 hours' where id = $1",
      [unused],
    );
    await waitFor("the unused one to go", async () => {
      await pool.query("select enqueue_job('clean_exports', '{}')");
      return (await keys()).length === before.length;
    });
    expect((await makeFrom(unused)).errors?.[0]?.message).toContain(
      "there is no uploaded workbook",
    );
  });

  test("is not deleted during its upload", async () => {
    const { pool } = exports.service.database;
    const { rows } = await pool.query<{ key: string }>(
      "insert into stored_files (key, delete_after) values ('backoffice/workbooks/coming.xlsx', now() + interval '1 minute') returning key",
    );
    expect((await pool.query("select files_to_delete() as key")).rows).not.toContainEqual(rows[0]);
    await pool.query("update stored_files set delete_after = now() where key = $1", [rows[0]?.key]);
    expect((await pool.query("select files_to_delete() as key")).rows).toContainEqual(rows[0]);
  });

  test("must match the template's kind", async () => {
    const { workbookId } = (await upload(await makeWorkbook({ A2: "{{name}}" }))).body;
    expect((await makeFrom(workbookId, "FORM")).errors?.[0]?.message).toBe(
      "workbookId: this workbook was uploaded for a TABLE",
    );
  });
});
