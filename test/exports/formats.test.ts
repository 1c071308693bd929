import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "csv-parse/sync";
import ExcelJS from "exceljs";
import { waitFor } from "../helpers/waitFor.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";
import type { ExportService } from "../helpers/exports/exportService.ts";
import { startExportService } from "../helpers/exports/exportService.ts";

let exports: ExportService;
let ids: string[];
let table: string;

const hostile = [
  "=1+1",
  "+1",
  "-1",
  "@SUM(A1)",
  "\tx",
  "\rx",
  "\nx",
  "＝1",
  "'=1",
  "1-1",
  'a "b", c\r\nd',
];
const columns = [
  ...[{ field: "erpProductNumber" }, { field: "name", title: "=Wine, all" }],
  ...[
    "description",
    "vintage",
    "isActive",
    "stockQuantity",
    "sourceUpdatedAt",
    "alcoholPercent",
  ].map((field) => ({ field })),
  ...[{ field: "prices.retail.DKK" }, { field: "wineType.name" }],
];

beforeAll(async () => {
  exports = await startExportService();
  const { pool } = exports.service.database;
  ids = await exports.addProducts(hostile.length);
  for (const [index, text] of hostile.entries())
    await pool.query("update products set description = $2 where id = $1", [ids[index], text]);
  await pool.query(
    `update products set name = 'Gewürztraminer 東', stock_quantity = -3, is_active = false, alcohol_percent = 13.50,
       source_updated_at = '2026-01-31T12:34:56.789Z', wine_type_id = (select id from wine_types where name = 'White')
     where id = $1`,
    [ids[0]],
  );
  await pool.query(
    "insert into product_prices (product_id, type, currency, amount) values ($1, 'retail', 'DKK', 449.50)",
    [ids[0]],
  );
  table = await exports.makeTemplate("TABLE", columns);
  await exports.startWorker();
});
afterAll(async () => {
  await endWorkers();
  await exports.stop();
});

async function fileOf(format: string, templateId = table) {
  const started = await exports.startWith({ templateId, productIds: ids, format });
  const job = await exports.reaches(started.id, ["completed"]);
  const { body } = await exports.download(job.id);
  const response = await fetch(body.url ?? "");
  return { job, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

describe("a CSV export", () => {
  test("is UTF-8 with a byte order mark, CRLF lines and a header", async () => {
    const { job, bytes } = await fileOf("CSV");
    expect(job).toMatchObject({
      format: "csv",
      exportedRows: hostile.length,
      notes: [],
      fileSize: bytes.length,
    });
    const text = bytes.toString();
    expect(text.startsWith('\ufeffNumber,"\'=Wine, all",Description,Vintage,')).toBe(true);
    expect(text.endsWith("\r\n")).toBe(true);
  });

  test("keeps every text, with an apostrophe before formulas", async () => {
    const { bytes } = await fileOf("CSV");
    const rows = parse(bytes, { bom: true, record_delimiter: "\r\n" });
    expect(rows.slice(1).map((row) => row[2])).toEqual([
      ...["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\tx", "'\rx", "'\nx", "'＝1", "'=1", "1-1"],
      'a "b", c\r\nd',
    ]);
  });

  test("keeps numbers unchanged and writes dates in ISO 8601", async () => {
    const { bytes } = await fileOf("CSV");
    const [, first, second] = parse(bytes, { bom: true, record_delimiter: "\r\n" });
    expect(first).toEqual([
      ...["000001", "Gewürztraminer 東", "'=1+1", "1991", "false", "-3"],
      ...["2026-01-31T12:34:56.789Z", "13.50", "449.50", "White"],
    ]);
    expect(second?.slice(5)).toEqual(["", "", "", "", ""]);
  });

  test("is downloaded as text/csv with the extension .csv", async () => {
    const { headers } = await fileOf("CSV", await exports.templateId("Price list"));
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(headers.get("content-disposition")).toMatch(
      /^attachment; filename="Price list \d{4}-\d\d-\d\d\.csv"$/,
    );
  });
});

describe("an XLSX export", () => {
  test("writes times in the user's time zone, with the summer time of their day", async () => {
    const { pool } = exports.service.database;
    await pool.query("update users set time_zone = 'America/New_York' where id = $1", [
      exports.exporter.userId,
    ]);
    await pool.query(
      "update products set source_updated_at = '2026-07-31T12:34:56Z' where id = $1",
      [ids[1]],
    );
    try {
      const { job, bytes } = await fileOf("XLSX");
      const workbook = new ExcelJS.Workbook();
      await workbook.xlsx.load(bytes as never);
      const cells = workbook.worksheets[0]?.getColumn(7).values.slice(2, 4);
      expect(cells).toEqual([
        new Date("2026-01-31T07:34:56.789Z"),
        new Date("2026-07-31T08:34:56Z"),
      ]);
      await pool.query("update export_jobs set finished_at = '2026-08-01T02:00Z' where id = $1", [
        job.id,
      ]);
      const { body } = await exports.download(job.id);
      const { headers } = await fetch(body.url ?? "");
      expect(headers.get("content-disposition")).toMatch(/ 2026-07-31\.xlsx"$/);
    } finally {
      await pool.query("update products set source_updated_at = null where id = $1", [ids[1]]);
    }
  });
});

describe("a JSON Lines export", () => {
  test("has one object per line, keyed by the template's fields, with values as in the API", async () => {
    const { job, bytes } = await fileOf("JSONL");
    expect(job).toMatchObject({ format: "jsonl", exportedRows: hostile.length });
    const lines = bytes.toString().split("\n");
    expect(lines.at(-1)).toBe("");
    const objects = lines.slice(0, -1).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(objects[0]).toEqual({
      ...{
        erpProductNumber: "000001",
        name: "Gewürztraminer 東",
        description: "=1+1",
        vintage: 1991,
      },
      ...{ isActive: false, stockQuantity: -3, sourceUpdatedAt: "2026-01-31T12:34:56.789Z" },
      ...{ alcoholPercent: "13.50", "prices.retail.DKK": "449.50", "wineType.name": "White" },
    });
    expect(objects.map(({ description }) => description)).toEqual(hostile);
    expect(objects[1]).toMatchObject({ stockQuantity: null, "prices.retail.DKK": null });
  });

  test("is downloaded as application/x-ndjson with the extension .jsonl", async () => {
    const { headers } = await fileOf("JSONL");
    expect(headers.get("content-type")).toBe("application/x-ndjson");
    expect(headers.get("content-disposition")).toMatch(/\.jsonl"$/);
  });
});

test("XLSX is the default format", async () => {
  const started = await exports.startWith({ templateId: table, productIds: ids });
  expect(await exports.reaches(started.id, ["completed"])).toMatchObject({ format: "xlsx" });
  const sheet = (await exports.open(started.id)).worksheets[0];
  expect(sheet?.getCell("A2").value).toBe("000001");
});

describe("CSV and JSONL are rejected", () => {
  const create = `mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }`;
  test.each(["CSV", "JSONL"])("for a form: %s", async (format) => {
    const templateId = await exports.makeTemplate("FORM", [{ field: "name" }]);
    const { errors } = await exports.service.ask(create, {
      token: exports.exporter.token,
      variables: { input: { templateId, productIds: ids.slice(0, 1), format } },
    });
    expect(errors?.[0]).toMatchObject({
      message: `format: a FORM can be exported as XLSX only, not ${format}`,
      extensions: { code: "BAD_USER_INPUT", path: ["input", "format"] },
    });
  });

  test("for a template that shows a field twice: JSONL, whose lines have the fields as keys", async () => {
    const templateId = await exports.makeTemplate("TABLE", [{ field: "name" }, { field: "name" }]);
    const ask = (format: string) =>
      exports.service.ask(create, {
        token: exports.exporter.token,
        variables: { input: { templateId, productIds: ids.slice(0, 1), format } },
      });
    expect((await ask("JSONL")).errors?.[0]?.message).toBe(
      "format: the template shows name twice, which JSONL cannot",
    );
    expect((await ask("CSV")).errors).toBeUndefined();
  });

  test("for an uploaded workbook, even when it is added after the request", async () => {
    const { pool } = exports.service.database;
    const templateId = await exports.makeTemplate("TABLE", [{ field: "name" }]);
    const lock = await pool.connect();
    // `start_exports` waits for this lock, so the export starts after the template has changed.
    await lock.query("begin");
    await lock.query(
      "select pg_advisory_xact_lock(hashtextextended('backoffice.start_exports', 0))",
    );
    const started = await exports.startWith({ templateId, productIds: ids, format: "CSV" });
    await pool.query(
      `with w as (
         insert into export_workbooks (kind, file_name, file_size, file_sha256, file_key, fields)
         values ('TABLE', 'a.xlsx', 1, 'a', 'backoffice/workbooks/a.xlsx', '{name}') returning id
       ) update export_templates set workbook_id = (select id from w) where id = $1`,
      [templateId],
    );
    await lock.query("commit");
    lock.release();
    const failed = await waitFor("the export to fail", async () => {
      const job = await exports.job(started.id);
      return job?.status === "failed" && job;
    });
    expect(failed.errorMessage).toBe(
      "The template was changed before the export ran: a template that is an uploaded workbook can be exported as XLSX only, not CSV",
    );
    const { errors } = await exports.service.ask(create, {
      token: exports.exporter.token,
      variables: { input: { templateId, productIds: ids, format: "CSV" } },
    });
    expect(errors?.[0]?.message).toBe(
      "format: a template that is an uploaded workbook can be exported as XLSX only, not CSV",
    );
  });
});
