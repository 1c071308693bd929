import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { endWorkers } from "../helpers/workers/workerProcess.ts";
import type { ExportService } from "../helpers/exports/exportService.ts";
import { startExportService } from "../helpers/exports/exportService.ts";

let exports: ExportService;
let template: string;

beforeAll(async () => {
  exports = await startExportService({ EXPORT_MAX_PRODUCTS: "60" });
  await exports.addProducts(70);
  await exports.service.database.pool.query(
    "update products set country = case when erp_product_number <= '000055' then 'France' else 'Italy' end",
  );
  template = await exports.makeTemplate("TABLE", [{ field: "erpProductNumber" }]);
  await exports.startWorker();
});
afterAll(async () => {
  await endWorkers();
  await exports.stop();
});

async function exported(input: object): Promise<string[]> {
  const { id } = await exports.startWith({ templateId: template, format: "CSV", ...input });
  await exports.reaches(id, ["completed"]);
  return (await exports.bytes(id)).toString().trimEnd().split("\r\n").slice(1);
}

const create = `mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }`;
async function refusalOf(input: object, token = exports.exporter.token) {
  const { errors = [] } = await exports.service.ask(create, {
    token,
    variables: { input: { templateId: template, ...input } },
  });
  const { rows } = await exports.service.database.pool.query<{ count: number }>(
    "select count(*)::integer as count from export_jobs where state = 'queued'",
  );
  expect(rows[0]?.count).toBe(0);
  const [{ message, extensions } = { message: "none", extensions: { code: "", path: [] } }] =
    errors;
  return [extensions.code, message, extensions.path];
}

describe("an export by query", () => {
  test("contains every match, beyond one page of the list", async () => {
    const numbers = await exported({
      query: "country:France",
      orderBy: ["ERP_PRODUCT_NUMBER_ASC"],
    });
    expect(numbers).toEqual(Array.from({ length: 55 }, (_, n) => String(n + 1).padStart(6, "0")));
  });

  test("uses the order of orderBy", async () => {
    const numbers = await exported({
      query: "vintage:>=2015",
      orderBy: ["VINTAGE_DESC", "ERP_PRODUCT_NUMBER_DESC"],
    });
    expect(numbers.slice(0, 3)).toEqual(["000059", "000029", "000058"]);
  });

  test("has rows without a value last in descending order", async () => {
    await exports.service.database.pool.query(
      "insert into products (erp_product_number, name, country, vintage) values ('old', 'Old', 'Chile', 1990), ('none', 'None', 'Chile', null), ('new', 'New', 'Chile', 2020)",
    );
    const numbers = await exported({ query: "country:Chile", orderBy: ["VINTAGE_DESC"] });
    expect(numbers).toEqual(["new", "old", "none"]);
  });

  test("uses the default order of `products` without orderBy", async () => {
    const { data } = await exports.service.ask(
      `{ products(query: "country:Italy") { nodes { erpProductNumber } } }`,
      { token: exports.exporter.token },
    );
    const listed = data.products.nodes.map(
      (node: { erpProductNumber: string }) => node.erpProductNumber,
    );
    expect(await exported({ query: "country:Italy" })).toEqual(listed);
  });

  test("contains the matches at the time of the request", async () => {
    const { pool } = exports.service.database;
    await pool.query(
      "insert into products (erp_product_number, name, country) values ('late 1', 'Late', 'Spain')",
    );
    const { id, totalRows } = await exports.startWith({
      templateId: template,
      query: "country:Spain",
    });
    await pool.query(
      "insert into products (erp_product_number, name, country) values ('late 2', 'Late', 'Spain')",
    );
    expect(totalRows).toBe(1);
    expect(await exports.reaches(id, ["completed"])).toMatchObject({ exportedRows: 1 });
  });

  test("records its query on the export and in the audit log", async () => {
    const { id } = await exports.startWith({ templateId: template, query: "country:Spain" });
    const { data } = await exports.service.ask(
      "query ($id: ID!) { exportJob(id: $id) { query format } }",
      {
        token: exports.exporter.token,
        variables: { id },
      },
    );
    expect(data.exportJob).toEqual({ query: "country:Spain", format: "xlsx" });
    const { rows } = await exports.service.database.pool.query(
      "select after ->> 'query' as query from audit_log where entity_id = $1 and operation = 'CREATE'",
      [id],
    );
    expect(rows).toEqual([{ query: "country:Spain" }]);
    await exports.reaches(id, ["completed"]);
  });

  test("exports one product by a form", async () => {
    const form = await exports.makeTemplate("FORM", [{ field: "name" }]);
    const { id } = await exports.startWith({ templateId: form, query: "erpProductNumber:000007" });
    expect(await exports.reaches(id, ["completed"])).toMatchObject({ exportedRows: 1 });
  });
});

describe("a selection is rejected", () => {
  test("with the number of matches when there are too many", async () => {
    expect(await refusalOf({ query: "id:*" })).toEqual([
      "BAD_USER_INPUT",
      expect.stringMatching(/^query: 7\d products match, more than the 60 of one export$/),
      ["input", "query"],
    ]);
  });

  test("when nothing matches", async () => {
    expect(await refusalOf({ query: "country:Norway" })).toEqual([
      "BAD_USER_INPUT",
      "query: no product matches",
      ["input", "query"],
    ]);
  });

  test.each(["", "  \n"])(
    "when the query is empty (%j), with a hint how to select all",
    async (query) => {
      expect(await refusalOf({ query })).toEqual([
        "BAD_USER_INPUT",
        "query: an empty search exports nothing (`id:*` matches every product)",
        ["input", "query"],
      ]);
    },
  );

  test.each([
    ["neither", {}],
    ["null for both", { query: null, productIds: null }],
    ["both", { query: "id:*", productIds: [] }],
  ])("with %s of productIds and query", async (_what, input) => {
    expect(await refusalOf(input)).toEqual([
      "BAD_USER_INPUT",
      "either productIds or query is needed, and not both",
      ["input"],
    ]);
  });

  test("with orderBy and productIds", async () => {
    expect(await refusalOf({ productIds: [template], orderBy: ["NAME_ASC"] })).toEqual([
      "BAD_USER_INPUT",
      "orderBy goes with query: productIds are exported in their own order",
      ["input", "orderBy"],
    ]);
  });

  test("with the position of an unknown field", async () => {
    expect(await refusalOf({ query: "vintgae:2016" })).toEqual([
      "BAD_USER_INPUT",
      "query: `vintgae` is not a field that can be searched (did you mean `vintage`?) at position 1",
      ["input", "query"],
    ]);
  });

  test("when a form matches several products", async () => {
    const form = await exports.makeTemplate("FORM", [{ field: "name" }]);
    expect(await refusalOf({ templateId: form, query: "country:Italy" })).toEqual([
      "BAD_USER_INPUT",
      "query: a form takes exactly one product, not 15",
      ["input", "query"],
    ]);
  });

  test("without products.read, before the query is parsed", async () => {
    const { token } = await exports.service.login(["exports.create", "exports.read"]);
    expect(await refusalOf({ query: "vintgae:2016" }, token)).toEqual([
      "FORBIDDEN",
      "Missing required permission: products.read",
      undefined,
    ]);
  });
});

test("a query uses only fields and related rows that the caller may read", async () => {
  const { pool } = exports.service.database;
  await pool.query(
    `with p as (select id from products where erp_product_number = '000001'),
       r as (insert into reviewers (name) values ('Hidden Critic') returning id)
     insert into product_ratings (product_id, reviewer_id, year, points) select p.id, r.id, 2020, 90 from p, r`,
  );
  const { token } = await exports.service.login([
    "exports.create",
    "exports.read",
    "products.read",
  ]);
  const query = `ratings.reviewer.name:"Hidden Critic"`;
  expect((await refusalOf({ query }, token))[1]).toBe("query: no product matches");
  expect(await exported({ query })).toEqual(["000001"]);
});
