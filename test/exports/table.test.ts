import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { packageProblems } from "../helpers/xlsx/packageProblems.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { WorkerProcess } from "../helpers/workers/workerProcess.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";
import type { ExportService } from "../helpers/exports/exportService.ts";
import { startExportService } from "../helpers/exports/exportService.ts";

let exports: ExportService;
let ids: string[];
let worker: WorkerProcess;

beforeAll(async () => {
  exports = await startExportService();
  const { pool } = exports.service.database;
  ids = await exports.addProducts(5);
  await pool.query(
    `update products set name = '=HYPERLINK("http://x")', description = E'-1\\tone', alcohol_percent = 13.5, stock_quantity = 12,
       is_active = false, source_updated_at = '2026-01-31T12:34:56.789Z', region = 'Bußler & <Søn>',
       wine_type_id = (select id from wine_types where name = 'Red')
     where id = $1`,
    [ids[1]],
  );
  await pool.query(
    `insert into product_prices (product_id, type, currency, amount) values ($1, 'retail', 'DKK', 449.5), ($1, 'wholesale', 'EUR', 30)`,
    [ids[1]],
  );
  await pool.query(
    `with r as (insert into reviewers (name) values ('Ann'), ('Bob') returning id, name)
     insert into product_ratings (product_id, reviewer_id, year, points, review)
     select $1, id, case name when 'Ann' then 2019 else 2021 end, case name when 'Ann' then 90 else 95.5 end, name || ' says' from r`,
    [ids[1]],
  );
  await pool.query(
    `insert into product_images (product_id, url, alt_text, position) values
       ($1, 'https://example.com/second.png', null, 2), ($1, 'https://example.com/first.png', 'A bottle', 1)`,
    [ids[1]],
  );
  worker = await exports.startWorker();
});
afterAll(async () => {
  await endWorkers();
  await exports.stop();
});

const columns = [
  { field: "erpProductNumber" },
  { field: "name", title: "Wine", width: 40 },
  ...["vintage", "description", "region", "isActive", "stockQuantity", "sourceUpdatedAt"].map(
    (field) => ({ field }),
  ),
  { field: "alcoholPercent", numberFormat: "0.0" },
  ...["wineType.name", "wineType.color", "prices.retail.DKK", "prices.wholesale.EUR"].map(
    (field) => ({ field }),
  ),
  ...["ratings.average", "ratings.count", "ratings.all"].map((field) => ({ field })),
  ...["points", "year", "reviewer", "review"].map((name) => ({ field: `ratings.latest.${name}` })),
  ...["image.url", "image.altText", "id"].map((field) => ({ field })),
];

describe("a table of columns", () => {
  test("contains each product once, in the requested order, with typed cells", async () => {
    const template = await exports.makeTemplate("TABLE", columns);
    const [first = "", second = "", third = ""] = ids;
    const started = await exports.start(template, [third, second, third, first, second]);
    expect(started).toMatchObject({
      status: "queued",
      format: "xlsx",
      totalRows: 3,
      exportedRows: 0,
      fileSize: null,
      errorMessage: null,
    });
    const job = await exports.reaches(started.id, ["completed"]);
    expect(job).toMatchObject({ totalRows: 3, exportedRows: 3, notes: [], source: started.source });
    const sheet = (await exports.open(job.id)).worksheets[0];
    const rows = [1, 2, 3, 4].map((row) =>
      columns.map((_, index) => sheet?.getRow(row).getCell(index + 1).value),
    );
    expect(sheet?.rowCount).toBe(4);
    expect(rows[0]).toEqual([
      ...["Number", "Wine", "Vintage", "Description", "Region", "On sale"],
      ...["Stock", "Changed in the ERP", "Alcohol", "Wine type", "Wine type colour"],
      ...["Retail price, DKK", "Wholesale price, EUR", "Average rating", "Ratings", "All ratings"],
      ...["Latest rating", "Latest rating: year", "Latest rating: reviewer", "Latest review"],
      ...["Picture address", "Picture in words", "ID"],
    ]);
    expect(rows.slice(1).map((row) => row[0])).toEqual(["000003", "000002", "000001"]);
    expect(rows[2]).toEqual([
      ...["000002", '=HYPERLINK("http://x")', 1992, "-1\tone", "Bußler & <Søn>", false, 12],
      // In the time zone of the office, Europe/Copenhagen.
      ...[new Date("2026-01-31T13:34:56.789Z"), 13.5, "Red", "#7A0019"],
      ...[449.5, 30, 92.75, 2, "Bob, 2021: 95.5\nAnn, 2019: 90", 95.5, 2021, "Bob", "Bob says"],
      { text: "https://example.com/first.png", hyperlink: "https://example.com/first.png" },
      ...["A bottle", ids[1]],
    ]);
    expect(rows[1]?.slice(1, 5)).toEqual(["Wine 3", 1993, null, null]);
    expect(sheet?.getColumn(9).numFmt ?? sheet?.getCell("I3").numFmt).toBe("0.0");
    expect(sheet?.getColumn(2).width).toBeCloseTo(40, 0);
  });

  test("is downloaded under its template's name, by a URL that expires", async () => {
    const started = await exports.start(await exports.templateId("Price list"), ids);
    const job = await exports.reaches(started.id, ["completed"]);
    const { status, body, headers } = await exports.download(job.id);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["url"]);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(new URL(body.url ?? "").searchParams.get("X-Amz-Expires")).toBe("300");
    const response = await fetch(body.url ?? "");
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.length).toBe(job.fileSize);
    expect(response.headers.get("content-disposition")).toMatch(
      /^attachment; filename="Price list \d{4}-\d\d-\d\d\.xlsx"$/,
    );
  });

  test.each(["Price list", "Stock and ratings"])("%s exists in a new system", async (name) => {
    const started = await exports.start(await exports.templateId(name), ids);
    const job = await exports.reaches(started.id, ["completed"]);
    expect(job).toMatchObject({ source: name, exportedRows: 5, notes: [] });
    const sheet = (await exports.open(job.id)).worksheets[0];
    expect(sheet?.name).toBe(name);
    expect(await packageProblems(await exports.bytes(job.id))).toEqual([]);
    expect(sheet?.getColumn(1).values.slice(1)).toEqual([
      "Number",
      ...["000001", "000002", "000003", "000004", "000005"],
    ]);
  });

  test("omits products deleted before it ran, and says so", async () => {
    const { pool } = exports.service.database;
    const { rows } = await pool.query<{ id: string }>(
      `insert into products (erp_product_number, name) values ('x1', 'X'), ('x2', 'X'), ('x3', 'X') returning id`,
    );
    const template = await exports.templateId("Price list");
    worker.signal("SIGSTOP");
    const some = await exports.start(
      template,
      rows.map(({ id }) => id),
    );
    const none = await exports.start(template, [rows[0]?.id ?? ""]);
    await pool.query("delete from products where erp_product_number = 'x1'");
    worker.signal("SIGCONT");
    expect(await exports.reaches(some.id, ["completed"])).toMatchObject({
      totalRows: 3,
      exportedRows: 2,
      notes: ["One product is missing: it was deleted after the export was requested"],
    });
    const failed = await waitFor("the other to fail", async () => {
      const job = await exports.job(none.id);
      return job?.status === "failed" && job;
    });
    expect(failed).toMatchObject({
      errorMessage: "The product was deleted before the export ran",
      fileSize: null,
    });
  });
});
