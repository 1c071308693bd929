import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { createExtraSqlDir, runMigrate } from "../helpers/migration/extraSqlDir.ts";

const migration = `
-- lint: allow constraint-not-valid because the products of a test are few
alter table products
  add column is_organic boolean not null default false,
  add column shelf integer constraint products_shelf_check check (shelf > 0),
  add column cellar_note text constraint products_cellar_note_check check (char_length(cellar_note) <= 10);
comment on column products.is_organic is '@export Organic
@title Certified
@searchIndex filter
Whether the wine is certified as organic.';
comment on column products.shelf is '@title Place in the cellar
Where it lies in the cellar.';
comment on constraint products_shelf_check on products is 'must be 1 at least';
-- lint: allow create-index because the products of a test are few
create index products_shelf_idx on products (shelf, id);
comment on column products.cellar_note is '@searchIndex searchable facet title Note of the cellar
@search word
For those who fetch it.';
-- lint: allow table-rewrite because the products of a test are few
alter table products alter column search_words
  set expression as (words_text(name, producer, grape_variety, region, cellar_note));
comment on constraint products_cellar_note_check on products is 'must be 10 characters at most';
-- A table of master data takes new columns into its mutations.
-- lint: allow constraint-not-valid because wine types are few
alter table wine_types add column serving_celsius integer constraint wine_types_serving_celsius_check check (serving_celsius between 0 and 30);
comment on column wine_types.serving_celsius is '@title Serving temperature
How warm it is served.';
-- lint: allow product-table because a campaign of this test is about a wine
comment on column campaigns.product_id is '@title Wine
The product of the campaign.';
comment on constraint wine_types_serving_celsius_check on wine_types is 'must be from 0 to 30';
`;

let database: TestDatabase;
let own: ExtraSqlDir;
let service: Service;
let staff: { token: string; userId: string };

beforeAll(async () => {
  [database, own] = await Promise.all([createDatabase(), createExtraSqlDir()]);
  await own.migration("columns", migration);
  expect(await runMigrate(database.url, own.path)).toMatchObject({ code: 0 });
  service = await startService({
    database,
    env: { DATABASE_EXTRA_SQL_DIR: own.path, ENABLE_E2E_TEST_MODE: "true" },
  });
  staff = await service.login([
    ...["products.read", "products.create", "products.update", "audit.read", "exports.read"],
  ]);
  const answer = await ask(`mutation { syncProducts(input: { products: [
    { erpProductNumber: "1", fields: { name: "Chinon" } }, { erpProductNumber: "2", fields: { name: "Barolo" } }
  ] }) { createdCount failedCount } }`);
  expect(answer.data).toEqual({ syncProducts: { createdCount: 2, failedCount: 0 } });
});
afterAll(async () => {
  await service.stop();
  await Promise.all([database.drop(), own.remove()]);
});

const ask = (query: string, variables: Record<string, unknown> = {}) =>
  service.ask(query, { token: staff.token, variables });

describe("a column that a migration adds to products", () => {
  test("is a field of the type and of the query language, with its description", async () => {
    await database.pool.query(
      "update products set is_organic = true, cellar_note = 'Top shelf' where erp_product_number = '1'",
    );
    const { data } = await ask(`{
      organic: products(query: "isOrganic:true") { nodes { name isOrganic cellarNote } }
      words: products(query: "shelf") { nodes { name } }
      __type(name: "Product") { fields { name description } }
    }`);
    expect(data.organic.nodes).toEqual([
      { name: "Chinon", isOrganic: true, cellarNote: "Top shelf" },
    ]);
    expect(data.words.nodes).toEqual([{ name: "Chinon" }]);
    expect(data.__type.fields).toContainEqual({
      name: "isOrganic",
      description: "Whether the wine is certified as organic.",
    });
  });

  test("is set by mutations under its rule and permission, and audited with the user", async () => {
    const create = (shelf: number) =>
      ask(
        `mutation ($shelf: Int) { createProduct(input: { erpProductNumber: "hand", name: "By hand", isOrganic: true, shelf: $shelf }) { id isOrganic shelf } }`,
        { shelf },
      );
    expect((await create(0)).errors?.[0]).toMatchObject({
      message: "shelf must be 1 at least",
      extensions: { code: "BAD_USER_INPUT", path: ["input", "shelf"] },
    });
    const made = await create(7);
    expect(made.errors).toBeUndefined();
    const { id } = made.data.createProduct;
    expect(made.data.createProduct).toEqual({ id, isOrganic: true, shelf: 7 });
    const update = `mutation ($id: ID!) { updateProduct(id: $id, input: { isOrganic: false, shelf: null }) { isOrganic shelf } }`;
    const reader = await service.login(["products.read", "products.create"]);
    expect(
      (await service.ask(update, { token: reader.token, variables: { id } })).errors?.[0]?.message,
    ).toBe("Missing required permission: products.update");
    expect((await ask(update, { id })).data.updateProduct).toEqual({
      isOrganic: false,
      shelf: null,
    });
    const { data } = await ask(
      `query ($id: String) { auditLogs(input: { entityType: "Product", entityId: $id }) { items { operation actorUserId before after } } }`,
      { id },
    );
    const actorUserId = staff.userId;
    expect(data.auditLogs.items).toEqual([
      {
        operation: "UPDATE",
        actorUserId,
        before: { isOrganic: true, shelf: 7 },
        after: { isOrganic: false, shelf: null },
      },
      {
        operation: "CREATE",
        actorUserId,
        before: null,
        after: expect.objectContaining({ isOrganic: true, shelf: 7 }),
      },
    ]);
    await database.pool.query("delete from products where id = $1", [id]);
  });

  test("sorts and pages where it is indexed, and can be aggregated", async () => {
    await database.pool.query("update products set shelf = erp_product_number::integer * 10");
    const page = async (after: string | null) =>
      (
        await ask(
          `query ($after: Cursor) { products(orderBy: [SHELF_DESC], first: 1, after: $after) { nodes { shelf } pageInfo { endCursor hasNextPage } } }`,
          { after },
        )
      ).data.products;
    const first = await page(null);
    expect(first.nodes).toEqual([{ shelf: 20 }]);
    expect(await page(first.pageInfo.endCursor)).toMatchObject({
      nodes: [{ shelf: 10 }],
      pageInfo: { hasNextPage: false },
    });
    const { data } = await ask(`{ products(query: "shelf:>=10") {
      aggregates { count sum { shelf } max { shelf } }
      groupedAggregates(groupBy: [IS_ORGANIC]) { keys count }
    } }`);
    expect(data.products.aggregates).toMatchObject({ count: 2, max: { shelf: 20 } });
    expect(Number(data.products.aggregates.sum.shelf)).toBe(30);
    expect(data.products.groupedAggregates).not.toEqual([]);
    await database.pool.query("update products set shelf = null");
  });

  test("is documented for searches, in the argument's description and as data", async () => {
    const { data, errors } = await ask(
      `{ searchFields(type: "products") { name kind description isWordField } __type(name: "Query") { fields { name args { name description } } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data.searchFields).toEqual(
      expect.arrayContaining([
        {
          name: "isOrganic",
          kind: "BOOLEAN",
          description: "Whether the wine is certified as organic.",
          isWordField: false,
        },
        expect.objectContaining({ name: "cellarNote", isWordField: true }),
        expect.objectContaining({ name: "shelf", kind: "INTEGER" }),
      ]),
    );
    const products = data.__type.fields.find(({ name }: { name: string }) => name === "products");
    const query = products.args.find(({ name }: { name: string }) => name === "query");
    expect(query.description).toContain("`isOrganic`");
    expect(query.description).toContain("`shelf`");
  });

  test("is a field of the search collection when its tag says so", async () => {
    const { data, errors } = await ask(
      `{ searchConfig(type: "products") { columns { name title dataType } searchableFields facetFields } }`,
    );
    expect(errors).toBeUndefined();
    const { columns, searchableFields, facetFields } = data.searchConfig;
    expect(columns).toContainEqual({
      name: "cellarNote",
      title: "Note of the cellar",
      dataType: "string",
    });
    expect(searchableFields).toContain("cellarNote");
    expect(facetFields).toContain("cellarNote");
    // The title of the column, where the tag has none.
    expect(columns).toContainEqual({ name: "isOrganic", title: "Certified", dataType: "bool" });
    expect(columns.map(({ name }: { name: string }) => name)).not.toContain("shelf");
  });

  test("exists in isolated test runs", async () => {
    const headers = { "X-Test-run-id": "column" };
    const { data } = await service.ask(
      `mutation { bootstrapFirstUser(email: "first@example.com") { token } }`,
      { headers },
    );
    const made = await service.ask(
      `mutation { createProduct(input: { erpProductNumber: "run", name: "Of the run", isOrganic: true, shelf: 1 }) { isOrganic shelf } }`,
      { token: data.bootstrapFirstUser.token as string, headers },
    );
    expect(made.data).toEqual({ createProduct: { isOrganic: true, shelf: 1 } });
    expect(
      (await ask(`{ products(query: "erpProductNumber:run") { nodes { name } } }`)).data,
    ).toEqual({ products: { nodes: [] } });
    await service.ask("mutation { cleanupTestRun }", { headers });
  });

  test("is in the audit log, also for changes made in the database", async () => {
    await database.pool.query(
      "update products set is_organic = true where erp_product_number = '2'",
    );
    const { data } = await ask(
      `{ auditLogs(input: { entityType: "Product", operation: "UPDATE", limit: 1 }) { items { before after } } }`,
    );
    expect(data.auditLogs.items).toEqual([
      { before: { isOrganic: false }, after: { isOrganic: true } },
    ]);
  });

  test("can be exported under the title from its comment", async () => {
    const { data } = await ask("{ exportFields { field title kind description } }");
    const fields = data.exportFields.filter(({ field }: { field: string }) =>
      ["isOrganic", "cellarNote", "shelf", "wineType.servingCelsius"].includes(field),
    );
    expect(fields).toEqual([
      {
        field: "cellarNote",
        title: "Cellar note",
        kind: "TEXT",
        description: "For those who fetch it.",
      },
      {
        field: "isOrganic",
        title: "Organic",
        kind: "BOOLEAN",
        description: "Whether the wine is certified as organic.",
      },
      {
        field: "shelf",
        title: "Place in the cellar",
        kind: "INTEGER",
        description: "Where it lies in the cellar.",
      },
      {
        field: "wineType.servingCelsius",
        title: "Wine type serving temperature",
        kind: "INTEGER",
        description: "How warm it is served.",
      },
    ]);
    // In the worker's form.
    const exported = await inTransaction(database.pool, async (client) => {
      const { rows } = await client.query<{ id: string; text: string }>(
        `with job as (
           insert into export_jobs (user_id, source, total_rows) select id, 'Wines', 1 from users limit 1 returning id, user_id
         ), chosen as (
           insert into export_job_products (job_id, product_ids)
           select job.id, array(select p.id from products p where p.erp_product_number = '1') from job
         )
         select id, set_config('office.user_id', user_id::text, true),
           export_query(array['name', 'isOrganic', 'wineType.servingCelsius']) as text
         from job`,
      );
      return client.query({ text: rows[0]?.text ?? "", values: [rows[0]?.id], rowMode: "array" });
    });
    expect(exported.rows).toEqual([[1, "Chinon", true, null]]);
  });

  test("has its title in exports of lists that refer to its row, after the title of the reference", async () => {
    const { data } = await ask(`{ listExportFields(entity: "campaigns") { field title } }`);
    expect(data.listExportFields).toEqual(
      expect.arrayContaining([
        { field: "product.shelf", title: "Wine place in the cellar" },
        { field: "product.vintage", title: "Wine vintage" },
      ]),
    );
  });

  test("is not changed by the ERP's product import", async () => {
    const sync = (name: string) =>
      ask(
        `mutation { syncProducts(input: { products: [{ erpProductNumber: "1", fields: { name: "${name}" } }] }) { results { status } products { isOrganic } } }`,
      );
    expect((await sync("Chinon rouge")).data.syncProducts).toEqual({
      results: [{ status: "UPDATED" }],
      products: [{ isOrganic: true }],
    });
    expect((await sync("Chinon")).data.syncProducts.products).toEqual([{ isOrganic: true }]);
    expect((await sync("Chinon")).data.syncProducts.results).toEqual([{ status: "UNCHANGED" }]);
  });
});

test("a column added to master data is in the mutations, under its own rule", async () => {
  const make = (celsius: number) =>
    ask(
      `mutation { createWineType(input: { name: "Vin jaune", servingCelsius: ${celsius} }) { name servingCelsius } }`,
    );
  expect((await make(60)).errors?.[0]).toMatchObject({
    message: "servingCelsius must be from 0 to 30",
    extensions: { code: "BAD_USER_INPUT", path: ["input", "servingCelsius"] },
  });
  expect((await make(15)).data.createWineType).toEqual({ name: "Vin jaune", servingCelsius: 15 });
});
