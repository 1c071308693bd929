import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type TestDatabase, actAs, createDatabase, inTransaction } from "../helpers/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const permissions = ["products.create", "products.update"];

test("an update without changes keeps `updated_at` of a row with `search_words`", () =>
  inTransaction(database.pool, async (client) => {
    await client.query(
      "insert into products (erp_product_number, name, updated_at) values ('n1', 'Barolo', '2020-01-01Z')",
    );
    await actAs(client, { permissions });
    const update = "update products set name = $1 returning updated_at < '2020-01-02Z' as is_kept";
    expect((await client.query(update, ["Barolo"])).rows).toEqual([{ is_kept: true }]);
    expect((await client.query(update, ["Barbera"])).rows).toEqual([{ is_kept: false }]);
  }));

test("the audit log omits `search_words`", () =>
  inTransaction(database.pool, async (client) => {
    await actAs(client, { permissions });
    await client.query("insert into products (erp_product_number, name) values ('n1', 'Barolo')");
    await client.query("update products set name = 'Barbera'");
    await client.query("reset role");
    const { rows } = await client.query<{ after: Record<string, unknown> }>(
      "select after from audit_log where entity_type = 'Product' order by created_at, operation",
    );
    expect(rows).toHaveLength(2);
    expect(rows.map(({ after }) => after["name"])).toEqual(["Barolo", "Barbera"]);
    for (const { after } of rows) expect(Object.keys(after)).not.toContain("searchWords");
  }));

test("`search_words` contains normalized texts between separators", () =>
  inTransaction(database.pool, async (client) => {
    const { rows } = await client.query<{ words: string }>(
      "insert into products (erp_product_number, name, region) values ('n1', 'CHÂTEAU Ørsted', 'Émilie') returning search_words as words",
    );
    const separator = "\x1F";
    expect(rows[0]?.words).toBe(["", "chateau orsted", "emilie", ""].join(separator));
  }));
