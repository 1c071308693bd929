import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { ExportService } from "../helpers/exports/exportService.ts";
import { startExportService } from "../helpers/exports/exportService.ts";

let exports: ExportService;

beforeAll(async () => {
  exports = await startExportService();
});
afterAll(() => exports.stop());

const shape =
  "id name description kind columns { position field title width numberFormat } workbook { fileName }";
const ask = async (query: string, variables: Record<string, unknown> = {}) => {
  const { data, errors } = await exports.service.ask(query, {
    token: exports.exporter.token,
    variables,
  });
  return { data, error: errors?.[0] };
};
const make = (input: object) =>
  ask(
    `mutation ($input: CreateExportTemplateInput!) { createExportTemplate(input: $input) { ${shape} } }`,
    { input },
  );
const change = (id: string, input: object) =>
  ask(
    `mutation ($id: ID!, $input: UpdateExportTemplateInput!) { updateExportTemplate(id: $id, input: $input) { ${shape} } }`,
    { id, input },
  );

describe("templates", () => {
  test("exist in a new system, sorted by name", async () => {
    const { data } = await ask(`{ exportTemplates { ${shape} } }`);
    expect(
      data.exportTemplates.map(({ name, kind }: { name: string; kind: string }) => [name, kind]),
    ).toEqual([
      ["Price list", "TABLE"],
      ["Stock and ratings", "TABLE"],
      ["Tasting sheet", "FORM"],
    ]);
    expect(data.exportTemplates[0].columns[0]).toEqual({
      position: 1,
      field: "erpProductNumber",
      title: "Number",
      width: "14.00",
      numberFormat: null,
    });
  });

  test("are created, changed and deleted, and each change is audited", async () => {
    const made = await make({
      name: " Mine ",
      kind: "TABLE",
      columns: [
        { field: "name" },
        { field: "prices.retail.SEK", title: "Pris", width: 12.5, numberFormat: "0.00" },
      ],
    });
    const template = made.data.createExportTemplate;
    expect(template).toEqual({
      id: expect.any(String),
      name: "Mine",
      description: null,
      kind: "TABLE",
      columns: [
        { position: 1, field: "name", title: "Name", width: null, numberFormat: null },
        {
          position: 2,
          field: "prices.retail.SEK",
          title: "Pris",
          width: "12.50",
          numberFormat: "0.00",
        },
      ],
      workbook: null,
    });
    const changed = await change(template.id, { description: "For Sweden" });
    expect(changed.data.updateExportTemplate).toEqual({ ...template, description: "For Sweden" });
    const other = await change(template.id, {
      name: "Ours",
      description: null,
      columns: [{ field: "vintage" }],
    });
    expect(other.data.updateExportTemplate).toMatchObject({
      name: "Ours",
      description: null,
      columns: [{ position: 1, field: "vintage", title: "Vintage" }],
    });
    const remove = () =>
      ask("mutation ($id: ID!) { deleteExportTemplate(id: $id) }", { id: template.id });
    expect((await remove()).data.deleteExportTemplate).toBe(true);
    expect((await remove()).error?.extensions.code).toBe("NOT_FOUND");
    const { rows } = await exports.service.database.pool.query(
      "select operation from audit_log where entity_type = 'ExportTemplate' and entity_id = $1 order by created_at",
      [template.id],
    );
    expect(rows.map(({ operation }) => operation)).toEqual([
      "CREATE",
      "UPDATE",
      "UPDATE",
      "DELETE",
    ]);
  });

  const columns = [{ field: "name" }];
  test.each<[string, object, string, (string | number)[]]>([
    [
      "neither columns nor a workbook",
      { name: "A", kind: "TABLE" },
      "A template has either columns or a workbookId",
      ["input"],
    ],
    [
      "no columns",
      { name: "A", kind: "TABLE", columns: [] },
      "columns must be 1 to 200",
      ["input", "columns"],
    ],
    [
      "an unknown field",
      { name: "A", kind: "TABLE", columns: [...columns, { field: "vintgae" }] },
      "`vintgae` is no field of a product that can be exported (did you mean `vintage`?): `exportFields` lists them",
      ["input", "columns", 1, "field"],
    ],
    [
      "what is not for API users",
      { name: "A", kind: "TABLE", columns: [{ field: "prices.retail.dkk" }] },
      "`prices.retail.dkk` is no field of a product that can be exported",
      ["input", "columns", 0, "field"],
    ],
    [
      "a picture in a table",
      { name: "A", kind: "TABLE", columns: [{ field: "image" }] },
      "`image` is a picture, which only a form can show; a table can show `image.url`",
      ["input", "columns", 0, "field"],
    ],
    [
      "a blank name",
      { name: " ", kind: "TABLE", columns },
      "name must be 1 to 100 visible characters without spaces at its ends",
      ["input", "name"],
    ],
    [
      "a name that is taken",
      { name: "PRICE LIST", kind: "TABLE", columns },
      "An export template of this name exists already.",
      ["input", "name"],
    ],
    [
      "an impossible width",
      { name: "A", kind: "TABLE", columns: [{ field: "name", width: 0 }] },
      "width must be from 1 to 255",
      ["input", "columns", 0, "width"],
    ],
    [
      "a number format that Excel does not know",
      { name: "A", kind: "TABLE", columns: [...columns, { field: "vintage", numberFormat: '0"' }] },
      "numberFormat: ",
      ["input", "columns", 1, "numberFormat"],
    ],
    [
      "an endless title",
      { name: "A", kind: "TABLE", columns: [{ field: "name", title: "x".repeat(201) }] },
      "title must be 1 to 200 visible characters without spaces at its ends",
      ["input", "columns", 0, "title"],
    ],
    [
      "an unknown workbook",
      { name: "A", kind: "TABLE", workbookId: "00000000-0000-7000-8000-000000000001" },
      "workbookId: there is no uploaded workbook with this id; unused uploads are kept for a day",
      ["input", "workbookId"],
    ],
  ])("are rejected for %s", async (_what, input, message, path) => {
    const { error } = await make(input);
    expect(error?.message).toContain(message);
    expect(error?.extensions.path ?? []).toEqual(path);
    const { rows } = await exports.service.database.pool.query(
      "select from export_templates where name = 'A'",
    );
    expect(rows).toEqual([]);
  });

  test("offer the columns of products and related rows, and prices by type and currency", async () => {
    const { pool } = exports.service.database;
    const [id] = await exports.addProducts(1);
    await pool.query(
      "insert into product_prices (product_id, type, currency, amount) values ($1, 'retail', 'NOK', 1)",
      [id],
    );
    const { data } = await ask("{ exportFields { field title kind description } }");
    const fields = new Map<string, object>(
      data.exportFields.map((one: { field: string }) => [one.field, one]),
    );
    expect(fields.get("alcoholPercent")).toEqual({
      field: "alcoholPercent",
      title: "Alcohol",
      kind: "DECIMAL",
      description: "The alcohol by volume, in per cent.",
    });
    expect(fields.get("wineType.id")).toMatchObject({ title: "Wine type ID" });
    expect(fields.get("wineType.color")).toMatchObject({ title: "Wine type colour" });
    const kinds = Object.fromEntries(
      [...fields].map(([field, one]) => [field, (one as { kind: string }).kind]),
    );
    expect(kinds).toMatchObject({
      ...{ id: "TEXT", vintage: "INTEGER", isActive: "BOOLEAN", createdAt: "DATETIME" },
      ...{ "wineType.name": "TEXT", "wineType.color": "TEXT", "prices.retail.NOK": "DECIMAL" },
      ...{ "ratings.average": "DECIMAL", "ratings.count": "INTEGER", "image.url": "URL" },
      image: "IMAGE",
    });
  });
});
