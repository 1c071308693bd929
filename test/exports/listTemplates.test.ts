import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import ExcelJS from "exceljs";
import { erpCustomer, erpOrder, importErpResponse, resetRules } from "../helpers/erpRecords.ts";
import { type ExportService, startExportService } from "../helpers/exports/exportService.ts";
import { type Answer, startService } from "../helpers/service.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";

let exports: ExportService;
let author: { token: string; userId: string };
let count = 0;

const permissions = [
  ...["exports.create", "exports.read", "exporttemplates.update", "orders.read", "customers.read"],
  ...["products.read", "audit.read"],
];

beforeAll(async () => {
  exports = await startExportService();
  const { pool } = exports.service.database;
  author = await exports.service.login(permissions);
  await resetRules(pool);
  await importErpResponse(pool, {
    customers: [
      erpCustomer("C1", { name: "Vinbaren", salesperson: "PS" }),
      erpCustomer("C2", { name: "Ærø Vin", salesperson: "PS" }),
    ],
    orders: [
      erpOrder("1001"),
      erpOrder("1002", { customerNumber: "C2", orderDate: "2026-04-01", totalAmount: "1000" }),
    ],
  });
  await exports.startWorker();
});
afterAll(async () => {
  await endWorkers();
  await exports.stop();
});

const ask = (query: string, variables: object, token = author.token) =>
  exports.service.ask(query, { token, variables: { ...variables } });
const startDocument = `mutation ($input: CreateListExportInput!) {
  createListExport(input: $input) { id source entity totalRows template { id } }
}`;
const askExport = (input: object, token?: string) =>
  ask(startDocument, { input: { query: "id:*", ...input } }, token);
const templateDocument = `mutation ($input: CreateExportTemplateInput!) {
  createExportTemplate(input: $input) { id entity columns { field title } workbook { entity } }
}`;
const askTemplate = (input: object) =>
  ask(templateDocument, { input: { name: `Template ${++count}`, kind: "TABLE", ...input } });
const refusal = ({ errors }: Answer) => ({
  message: errors?.[0]?.message,
  path: errors?.[0]?.extensions.path,
});
const dataOf = ({ data, errors }: Answer) => {
  expect(errors).toBeUndefined();
  return data;
};
const makeTemplate = async (input: object) =>
  dataOf(await askTemplate(input)).createExportTemplate as {
    id: string;
    entity: string;
    columns: { field: string; title: string }[];
    workbook: { entity: string } | null;
  };
const start = async (input: object, token?: string) =>
  dataOf(await askExport(input, token)).createListExport as {
    id: string;
    source: string;
    entity: string | null;
    totalRows: number;
    template: { id: string } | null;
  };

/** Starts an export and waits for its workbook. */
async function exported(input: object, token = author.token) {
  const { id } = await start(input, token);
  const { notes } = await exports.reaches(id, ["completed"], token);
  const workbook = await exports.open(id, token);
  return { workbook, notes, rows: rowsOf(workbook.worksheets[0]) };
}

function rowsOf(sheet: ExcelJS.Worksheet | undefined): unknown[][] {
  const rows: unknown[][] = [];
  sheet?.eachRow((row) => rows.push((row.values as unknown[]).slice(1)));
  return rows;
}

async function workbookOf(cells: Record<string, string>): Promise<Buffer> {
  const workbook = new ExcelJS.Workbook();
  const sheet = workbook.addWorksheet("Sheet");
  for (const [cell, text] of Object.entries(cells)) sheet.getCell(cell).value = text;
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

async function upload(cells: Record<string, string>, query: string) {
  const response = await fetch(`${exports.service.url}/exports/workbooks?name=a.xlsx&${query}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${author.token}`,
      "content-type": "application/octet-stream",
    },
    body: new Uint8Array(await workbookOf(cells)),
  });
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- read like an untyped client
  return { status: response.status, body: (await response.json()) as any };
}

const orderColumns = [
  { field: "erpOrderNumber", title: "No.", width: 14 },
  { field: "customer.name" },
  { field: "totalAmount", numberFormat: '#,##0.00" kr"' },
];

describe("a template with columns of orders", () => {
  test("defines the columns and the name of the file", async () => {
    const template = await makeTemplate({
      ...{ name: "Order list", entity: "orders", columns: orderColumns },
    });
    expect(template).toMatchObject({
      entity: "orders",
      columns: [{ title: "No." }, { title: "Customer name" }, { title: "Total" }],
    });
    const input = {
      ...{ entity: "orders", templateId: template.id, orderBy: ["PLACED_AT_DESC"] },
    };
    expect(await start(input)).toMatchObject({
      source: "Order list",
      entity: "orders",
      totalRows: 2,
      template: { id: template.id },
    });
    const { workbook, rows, notes } = await exported(input);
    expect(rows).toEqual([
      ["No.", "Customer name", "Total"],
      ["1002", "Ærø Vin", 1000],
      ["1001", "Vinbaren", 750],
    ]);
    expect(notes).toEqual([]);
    const sheet = workbook.getWorksheet("Order list");
    expect(sheet?.getCell("C2").numFmt).toBe('#,##0.00" kr"');
    expect(sheet?.getColumn(1).width).toBeCloseTo(14, 0);
  });

  test("can be changed to fields of the same list", async () => {
    const { id } = await makeTemplate({ entity: "orders", columns: orderColumns });
    const change = (columns: object[]) =>
      ask(
        `mutation ($id: ID!, $input: UpdateExportTemplateInput!) {
          updateExportTemplate(id: $id, input: $input) { columns { title } }
        }`,
        { id, input: { columns } },
      );
    expect(dataOf(await change([{ field: "placedAt" }])).updateExportTemplate.columns).toEqual([
      { title: "Placed" },
    ]);
    expect(refusal(await change([{ field: "totalAmout" }]))).toEqual({
      message:
        "field: `totalAmout` is not a column that can be exported (did you mean `totalAmount`?)",
      path: ["input", "columns", 0, "field"],
    });
  });

  test("leaves columns empty whose table the user can no longer read, with a note", async () => {
    const { token, userId } = await exports.service.login([
      ...["exports.create", "exports.read", "orders.read", "customers.read"],
    ]);
    const { id } = await makeTemplate({ entity: "orders", columns: orderColumns });
    await exports.service.database.pool.query(
      "delete from role_permissions using permissions p where p.id = permission_id and p.key = 'customers.read' and role_id in (select role_id from user_roles where user_id = $1)",
      [userId],
    );
    dataOf(await ask("{ me { id } }", {}, token));
    const { rows, notes } = await exported(
      { entity: "orders", query: "1001", templateId: id },
      token,
    );
    expect(rows[1]).toEqual(["1001", undefined, 750]);
    expect(notes).toEqual(["Left empty for lack of permission: Customer name"]);
  });
});

test("a workbook of campaigns holds the cells of the matches, with moments in the user's time zone", async () => {
  const { pool } = exports.service.database;
  const { token, userId } = await exports.service.login([
    ...["exports.create", "exports.read", "campaigns.read", "products.read", "users.read"],
  ]);
  await pool.query("update users set name = 'Dorthe', time_zone = 'Asia/Tokyo' where id = $1", [
    userId,
  ]);
  await pool.query(
    `with p as (insert into products (erp_product_number, name) values ('G1', 'Grattamacco') returning id)
     insert into campaigns (title, product_id, author_user_id, price, medium, status, scheduled_at)
     select title, p.id, $1, price, 'EMAIL', status::campaign_status, moment::timestamptz
     from p, (values
       ('Bolgheri days', '99 kr', 'SCHEDULED', '2031-10-01T18:00:00Z'),
       ('Bolgheri nights', '149 kr', 'DRAFT', '2031-10-02T08:00:00Z'),
       ('Chianti week', '79 kr', 'SCHEDULED', '2031-10-03T08:00:00Z')
     ) as c(title, price, status, moment)`,
    [userId],
  );
  const columns = ["title", "price", "status", "scheduledAt", "product.name", "author.name"];
  const { id: templateId } = await makeTemplate({
    entity: "campaigns",
    columns: columns.map((field) => ({ field })),
  });
  const input = { entity: "campaigns", templateId, query: "bolgheri", orderBy: ["TITLE_DESC"] };
  const { rows, notes } = await exported(input, token);
  expect(notes).toEqual([]);
  // A workbook's moments have no time zone; ExcelJS reads them as UTC.
  const moment = (text: string) => new Date(`${text}Z`);
  expect(rows.slice(1)).toEqual([
    ["Bolgheri nights", "149 kr", "DRAFT", moment("2031-10-02T17:00"), "Grattamacco", "Dorthe"],
    ["Bolgheri days", "99 kr", "SCHEDULED", moment("2031-10-02T03:00"), "Grattamacco", "Dorthe"],
  ]);
});

test("a list without a template notes columns left empty, too", async () => {
  const { token } = await exports.service.login(["exports.create", "exports.read", "orders.read"]);
  const columns = ["erpOrderNumber", "customer.name"];
  const { notes } = await exported({ entity: "orders", columns }, token);
  expect(notes).toEqual(["Left empty for lack of permission: Customer name"]);
});

test("a template of the audit log shows changed values", async () => {
  const { id } = await makeTemplate({
    entity: "auditLogs",
    columns: [{ field: "entityType", title: "Kind" }, { field: "after" }],
  });
  const { rows } = await exported({
    entity: "auditLogs",
    query: "entityType:Customer operation:CREATE",
    templateId: id,
  });
  expect(rows[0]).toEqual(["Kind", "After"]);
  expect(rows.slice(1).map(([kind]) => kind)).toEqual(["Customer", "Customer"]);
});

describe("a FORM of one order", () => {
  const form = { entity: "orders", kind: "FORM", columns: orderColumns };

  test("has a line for each column", async () => {
    const { id } = await makeTemplate(form);
    const { rows } = await exported({ entity: "orders", query: "1001", templateId: id });
    expect(rows).toEqual([
      ["No.", "1001"],
      ["Customer name", "Vinbaren"],
      ["Total", 750],
    ]);
  });

  test("is rejected for two rows, and as CSV", async () => {
    const { id } = await makeTemplate(form);
    expect(refusal(await askExport({ entity: "orders", templateId: id }))).toEqual({
      message: "query: a form takes exactly one row, not 2",
      path: ["input", "query"],
    });
    const csv = { entity: "orders", query: "1001", templateId: id, format: "CSV" };
    expect(refusal(await askExport(csv))).toEqual({
      message: "format: a FORM can be exported as XLSX only, not CSV",
      path: ["input", "format"],
    });
  });
});

describe("an uploaded workbook of another list", () => {
  test("is filled with fields of the rows and of referenced rows", async () => {
    const cells = {
      A1: "Orders",
      A2: "{{erpOrderNumber}} of {{customer.name}}",
      B2: "{{totalAmount}}",
    };
    const { status, body } = await upload(cells, "kind=TABLE&entity=orders");
    expect([status, body.entity]).toEqual([201, "orders"]);
    const template = await makeTemplate({ entity: "orders", workbookId: body.workbookId });
    expect(template.workbook).toEqual({ entity: "orders" });
    const { rows } = await exported({
      ...{ entity: "orders", templateId: template.id, orderBy: ["PLACED_AT_ASC"] },
    });
    expect(rows).toEqual([["Orders"], ["1001 of Vinbaren", 750], ["1002 of Ærø Vin", 1000]]);
  });

  test("accepts customers, and is exported as a workbook only", async () => {
    const { body } = await upload({ A1: "{{name}}" }, "kind=TABLE&entity=customers");
    const { id } = await makeTemplate({ entity: "customers", workbookId: body.workbookId });
    const input = { entity: "customers", templateId: id };
    const { rows } = await exported(input);
    expect(rows.flat().sort()).toEqual(["Vinbaren", "Ærø Vin"]);
    expect(refusal(await askExport({ ...input, format: "JSONL" })).message).toBe(
      "format: a template that is an uploaded workbook can be exported as XLSX only, not JSONL",
    );
  });

  test.each<[string, Record<string, string>, string, string]>([
    ["a field of products", { A1: "{{vintage}}" }, "entity=orders", "Sheet!A1: There is no field"],
    [
      "a price, which products have",
      { A1: "{{prices.retail.DKK}}" },
      "entity=orders",
      "Sheet!A1: There is no field",
    ],
    [
      "an unknown list",
      { A1: "{{name}}" },
      "entity=order",
      "entity: there is no list `order` (did you mean `orders`?)",
    ],
    ["two lists", { A1: "{{name}}" }, "entity=orders&entity=users", "entity must be the name of"],
  ])("is rejected for %s", async (_what, cells, query, message) => {
    const { status, body } = await upload(cells, `kind=TABLE&${query}`);
    expect(status).toBe(400);
    expect(body.error.message).toContain(message);
  });

  test("is accepted only for a template of the same list", async () => {
    const { body } = await upload({ A1: "{{name}}" }, "kind=TABLE&entity=customers");
    const { workbookId } = body;
    expect(refusal(await askTemplate({ entity: "orders", workbookId }))).toEqual({
      message:
        "workbookId: this workbook was uploaded for customers, and the template shows orders",
      path: ["input", "workbookId"],
    });
  });
});

describe("createExportTemplate", () => {
  test.each<[string, object, string, (string | number)[]]>([
    [
      "an unknown list",
      { entity: "order", columns: orderColumns },
      "entity: there is no list `order` (did you mean `orders`?)",
      ["input", "entity"],
    ],
    [
      "an unknown field",
      { entity: "orders", columns: [...orderColumns, { field: "customer.nmae" }] },
      "field: `customer.nmae` is not a column that can be exported (did you mean `customer.name`",
      ["input", "columns", 3, "field"],
    ],
    [
      "no columns",
      { entity: "orders", columns: [] },
      "columns: name 1 to 200 columns",
      ["input", "columns"],
    ],
    [
      "an impossible width",
      { entity: "orders", columns: [{ field: "placedAt", width: 0 }] },
      "width must be from 1 to 255",
      ["input", "columns", 0, "width"],
    ],
  ])("rejects %s", async (_what, input, message, path) => {
    const refused = refusal(await askTemplate(input));
    expect(refused.message).toContain(message);
    expect(refused.path).toEqual(path);
  });

  test("rejects a list that only sessions can read", async () => {
    const { database } = exports.service;
    await database.pool.query(`
      set role office_owner;
      create table planted_keys (id uuid primary key default uuidv7());
      comment on table planted_keys is E'@read products.read\n@session\n@audit off because it is planted\nA key.';
      select protect_table('planted_keys');
      reset role`);
    const other = await startService({ env: exports.files.env(), database });
    const answer = await other.ask(templateDocument, {
      token: author.token,
      variables: {
        input: { name: "Keys", entity: "plantedKeys", kind: "TABLE", columns: [{ field: "id" }] },
      },
    });
    await other.stop();
    expect(refusal(answer)).toEqual({
      message: "entity: plantedKeys shows in sessions only and cannot be exported",
      path: ["input", "entity"],
    });
  });
});

describe("createListExport with a template", () => {
  test("accepts one of products, like createDataExportFromTemplate", async () => {
    await exports.addProducts(3);
    const templateId = await exports.templateId("Price list");
    const input = {
      entity: "products",
      templateId,
      query: "vintage:>=1992",
      orderBy: ["NAME_DESC"],
    };
    expect(await start(input)).toMatchObject({
      source: "Price list",
      totalRows: 2,
      template: { id: templateId },
    });
    const { rows } = await exported(input);
    expect(rows.map(([number, wine]) => [number, wine])).toEqual([
      ["Number", "Wine"],
      ["000003", "Wine 3"],
      ["000002", "Wine 2"],
    ]);
  });

  test("of products needs products.read", async () => {
    const { token } = await exports.service.login(["exports.create"]);
    const templateId = await exports.templateId("Price list");
    const answer = await askExport({ entity: "products", templateId }, token);
    expect(refusal(answer).message).toBe("Missing required permission: products.read");
  });

  test("rejects one of another list, an unknown one, and additional columns", async () => {
    const { id: templateId } = await makeTemplate({ entity: "orders", columns: orderColumns });
    const wrong = {
      message:
        "templateId: this template shows orders; use createListExport with the entity orders",
      path: ["input", "templateId"],
    };
    expect(refusal(await askExport({ entity: "customers", templateId }))).toEqual(wrong);
    expect(refusal(await askExport({ entity: "products", templateId }))).toEqual(wrong);
    const products = ask(
      `mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }`,
      { input: { templateId, query: "id:*" } },
    );
    expect(refusal(await products)).toEqual(wrong);
    const unknown = "0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a";
    expect(refusal(await askExport({ entity: "orders", templateId: unknown }))).toEqual({
      message: `templateId: there is no export template ${unknown}`,
      path: ["input", "templateId"],
    });
    expect(refusal(await askExport({ entity: "orders", templateId, columns: ["id"] }))).toEqual({
      message: "columns: a template has its own columns: give either templateId or columns",
      path: ["input", "columns"],
    });
  });

  const change = (id: string, input: object) =>
    ask(
      `mutation ($id: ID!, $input: UpdateExportTemplateInput!) { updateExportTemplate(id: $id, input: $input) { id } }`,
      { id, input },
    );

  /** Starts an export and calls `before` while it waits. */
  async function startAndWait(templateId: string, before: () => Promise<Answer>): Promise<string> {
    const lock = await exports.service.database.pool.connect();
    try {
      await lock.query("begin");
      await lock.query(
        "select pg_advisory_xact_lock(hashtextextended('backoffice.start_exports', 0))",
      );
      const { id } = await start({ entity: "orders", templateId });
      dataOf(await before());
      await lock.query("commit");
      return id;
    } finally {
      lock.release();
    }
  }

  test("fails when the template was deleted before it ran", async () => {
    const { id: templateId } = await makeTemplate({ entity: "orders", columns: orderColumns });
    const id = await startAndWait(templateId, () =>
      ask("mutation ($id: ID!) { deleteExportTemplate(id: $id) }", { id: templateId }),
    );
    await expect(exports.reaches(id, ["completed"], author.token)).rejects.toThrow(
      "The template was deleted before the export ran",
    );
  });

  test("fails when the template's fields were changed before it ran", async () => {
    const { id: templateId } = await makeTemplate({ entity: "orders", columns: orderColumns });
    const id = await startAndWait(templateId, () =>
      change(templateId, { columns: orderColumns.slice(1) }),
    );
    await expect(exports.reaches(id, ["completed"], author.token)).rejects.toThrow(
      "The template was changed before the export ran: request the export again",
    );
  });

  test("uses titles that were changed before it ran", async () => {
    const { id: templateId } = await makeTemplate({ entity: "orders", columns: orderColumns });
    const columns = orderColumns.map((one) => ({ ...one, title: "New" }));
    const id = await startAndWait(templateId, () => change(templateId, { columns }));
    await exports.reaches(id, ["completed"], author.token);
    const { worksheets } = await exports.open(id, author.token);
    expect(rowsOf(worksheets[0])[0]).toEqual(["New", "New", "New"]);
  });
});

describe("listExportFields", () => {
  const fieldsOf = (entity: string, token?: string) =>
    ask(
      "query ($entity: String!) { listExportFields(entity: $entity) { field title kind description } }",
      { entity },
      token,
    );

  test("lists the fields of the row and of referenced rows, with their descriptions", async () => {
    const fields = dataOf(await fieldsOf("orders")).listExportFields as { field: string }[];
    const named = (field: string) => fields.find((one) => one.field === field);
    expect(named("totalAmount")).toMatchObject({ title: "Total", kind: "DECIMAL" });
    expect(named("placedAt")).toMatchObject({
      kind: "DATETIME",
      description: expect.stringMatching(/\w/),
    });
    expect(named("customer.name")).toMatchObject({ title: "Customer name", kind: "TEXT" });
    expect(named("searchWords")).toBeUndefined();
    expect(fields.filter(({ field }) => field.split(".").length > 2)).toEqual([]);
    expect(fields.filter(({ field }) => field.startsWith("orderLines"))).toEqual([]);
  });

  test("offers only fields that a template accepts", async () => {
    for (const entity of ["customers", "campaigns", "auditLogs"]) {
      const fields = dataOf(await fieldsOf(entity)).listExportFields as { field: string }[];
      const columns = fields.slice(0, 200).map(({ field }) => ({ field }));
      expect((await makeTemplate({ entity, columns })).columns).toHaveLength(columns.length);
    }
  });

  test("rejects an unknown list, products, and callers without exports.read", async () => {
    expect(refusal(await fieldsOf("order")).message).toContain(
      "entity: there is no list `order` (did you mean `orders`?)",
    );
    expect(refusal(await fieldsOf("products"))).toEqual({
      message: "entity: `exportFields` lists the fields of products",
      path: ["entity"],
    });
    const { token } = await exports.service.login(["exports.create"]);
    expect(refusal(await fieldsOf("orders", token)).message).toBe(
      "Missing required permission: exports.read",
    );
  });
});
