import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";
import type { OwnFolder } from "./ownFolder.ts";
import { makeOwnFolder, runMigrate } from "./ownFolder.ts";

const migration = `
alter table products
  add column is_organic boolean not null default false,
  add column cellar_note text constraint products_cellar_note_check check (char_length(cellar_note) <= 10);
comment on column products.is_organic is 'Whether the wine is certified as organic.';
comment on column products.cellar_note is '@search word
For those who fetch it.';
-- lint: allow create-index because the products of a test are few
create index products_cellar_note_search_idx on products using gin (search_text(cellar_note) extensions.gin_trgm_ops);
comment on constraint products_cellar_note_check on products is 'must be 10 characters at most';
-- A table of master data takes new columns into its mutations.
alter table wine_types add column serving_celsius integer constraint wine_types_serving_celsius_check check (serving_celsius between 0 and 30);
comment on column wine_types.serving_celsius is 'How warm it is served.';
comment on constraint wine_types_serving_celsius_check on wine_types is 'must be from 0 to 30';
`;

let database: TestDatabase;
let own: OwnFolder;
let service: Service;
let token: string;

beforeAll(async () => {
  [database, own] = await Promise.all([createDatabase(), makeOwnFolder()]);
  await own.migration("columns", migration);
  expect(await runMigrate(database.url, own.path)).toMatchObject({ code: 0 });
  service = await startService({ database, env: { DATABASE_OWN_FOLDER: own.path } });
  ({ token } = await service.login([
    ...["products.read", "products.create", "products.update", "audit.read"],
  ]));
  const answer = await ask(`mutation { syncProducts(input: { products: [
    { erpProductNumber: "1", fields: { name: "Chinon" } }, { erpProductNumber: "2", fields: { name: "Barolo" } }
  ] }) { createdCount failedCount } }`);
  expect(answer.data).toEqual({ syncProducts: { createdCount: 2, failedCount: 0 } });
}, 60_000);
afterAll(async () => {
  await service.stop();
  await Promise.all([database.drop(), own.remove()]);
});

const ask = (query: string) => service.ask(query, { token });

describe("A column that a migration adds to products", () => {
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

  test("is in the audit log", async () => {
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

  test("is left alone by the ERP's products", async () => {
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

test("A column that a migration adds to master data is in the mutations, under its own rule", async () => {
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
