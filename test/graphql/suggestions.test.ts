import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import { readPlans, logPlans } from "../helpers/db/plans.ts";
import { type InProcess, makeInProcess } from "../helpers/inProcess.ts";
import { type Service, startService } from "../helpers/service.ts";

const document = `query ($entity: String!, $text: String!, $first: Int, $query: String) {
  suggestions(entity: $entity, text: $text, first: $first, query: $query) { id name detail color } }`.replace(
  "$first: Int,",
  "$first: Int! = 8,",
);

describe("suggestions", () => {
  let service: Service;
  let token: string;

  beforeAll(async () => {
    service = await startService();
    ({ token } = await service.login(["products.read", "products.create", "products.update"]));
    const names = [
      "Barolo",
      "Barolo Bussia",
      "Old Barolo",
      "Grand Bârolo Reserve",
      "Embarolo",
      "Chablis 100%",
      "Chablis 1000",
      "Chinon",
    ];
    const { errors } = await service.ask(
      `mutation ($products: [SyncProductInput!]!) { syncProducts(input: { products: $products }) { createdCount } }`,
      {
        token,
        variables: {
          products: [...names, "Zinfandel"].map((name, place) => ({
            erpProductNumber: name === "Zinfandel" ? "W-100" : `00${place}`,
            fields: { name, country: place < 2 ? "Italy" : "France" },
          })),
        },
      },
    );
    expect(errors).toBeUndefined();
  });
  afterAll(() => service?.stop());

  const suggest = async (text: string, more: object = {}) => {
    const { data, errors } = await service.ask(document, {
      token,
      variables: { entity: "products", text, ...more },
    });
    expect(errors).toBeUndefined();
    return (data.suggestions as { name: string }[]).map(({ name }) => name);
  };
  const refuse = async (variables: object, asked = token) =>
    (
      await service.ask(document, {
        token: asked,
        variables: { entity: "products", text: "b", ...variables },
      })
    ).errors?.[0];

  test("rank an exact name first, then a prefix of the name, then a prefix of a word", async () => {
    expect(await suggest("barolo")).toEqual([
      "Barolo",
      "Barolo Bussia",
      "Old Barolo",
      "Grand Bârolo Reserve",
    ]);
    expect(await suggest("BÂR")).toContain("Old Barolo");
    expect(await suggest("c")).toEqual(["Chinon", "Chablis 100%", "Chablis 1000"]);
    expect(await suggest("barolo", { first: 1 })).toEqual(["Barolo"]);
  });

  test("find a row by a prefix of its number or its address", async () => {
    expect(await suggest("003")).toEqual(["Grand Bârolo Reserve"]);
    expect(await suggest("00", { first: 20 })).toHaveLength(8);
    expect(await suggest("03")).toEqual([]);
    expect(await suggest("w-1")).toEqual(["Zinfandel"]);
    expect(await suggest("W-1")).toEqual(["Zinfandel"]);
    const { token: staff, userId } = await service.login(["users.read"], "bertha@example.com");
    await service.database.pool.query("update users set name = 'Bo' where id = $1", [userId]);
    const { data } = await service.ask(document, {
      token: staff,
      variables: { entity: "users", text: "bertha@" },
    });
    expect(data.suggestions).toMatchObject([{ name: "Bo", detail: "bertha@example.com" }]);
  });

  test("match LIKE wildcards literally", async () => {
    expect(await suggest("chablis 100%")).toEqual(["Chablis 100%"]);
    expect(await suggest("chabl_s")).toEqual([]);
    expect(await suggest("%")).toEqual([]);
  });

  test("start with the list for an empty text, and respect a query", async () => {
    expect(await suggest("", { first: 2 })).toEqual(["Barolo", "Barolo Bussia"]);
    expect(await suggest("", { query: "country:France", first: 2 })).toEqual([
      "Chablis 100%",
      "Chablis 1000",
    ]);
    expect(await suggest("barolo", { query: "country:Italy" })).toEqual([
      "Barolo",
      "Barolo Bussia",
    ]);
  });

  test("find rows of small tables, with their colour", async () => {
    const { data } = await service.ask(document, {
      token,
      variables: { entity: "wineTypes", text: "re" },
    });
    expect(data.suggestions).toContainEqual(
      expect.objectContaining({ name: "Red", color: expect.stringMatching(/^#[0-9A-F]{6}$/) }),
    );
  });

  test("have times in the form of the API", async () => {
    await service.database.pool.query(
      `insert into customers (erp_customer_number, name) values ('C1', 'Vinhandel');
       insert into customer_notes (customer_id, body, created_at)
       select id, 'Wants Barolo', '2026-03-29T03:30:00+02' from customers`,
    );
    const { token: sales } = await service.login(["customers.read"], "sales@example.com");
    const { data } = await service.ask(document, {
      token: sales,
      variables: { entity: "customerNotes", text: "wants" },
    });
    expect(data.suggestions).toMatchObject([
      { name: "Wants Barolo", detail: "2026-03-29T01:30:00.000Z" },
    ]);
  });

  test("name rows by a computed field", async () => {
    const person = await service.login([], "astrid@example.com");
    await service.database.pool.query(
      `insert into absences (user_id, type, starts_on, ends_on) values ($1, 'SICK', '2027-11-04', '2027-11-05')`,
      [person.userId],
    );
    for (const text of ["", "astr"]) {
      const variables = { entity: "absences", text };
      const { data } = await service.ask(document, { token: person.token, variables });
      expect(data.suggestions).toMatchObject([{ name: "astrid", detail: "2027-11-04" }]);
    }
  });

  test("are rejected without the permission, for unknown tables and above their limits", async () => {
    expect(await refuse({ entity: "orders" })).toMatchObject({
      message: "Missing required permission: orders.read",
      extensions: { code: "FORBIDDEN" },
    });
    expect(await refuse({ entity: "prodcts" })).toMatchObject({
      message: "entity: there is no list `prodcts` (did you mean `products`?)",
      extensions: { code: "BAD_USER_INPUT", path: ["entity"] },
    });
    expect(await refuse({ entity: "__proto__" })).toMatchObject({
      extensions: { code: "BAD_USER_INPUT", path: ["entity"] },
    });
    for (const [variables, path] of [
      [{ text: "b".repeat(201) }, "text"],
      [{ first: 0 }, "first"],
      [{ first: 51 }, "first"],
    ] as const)
      expect(await refuse(variables)).toMatchObject({
        extensions: { code: "BAD_USER_INPUT", path: [path] },
      });
    expect(await refuse({ query: "vintgae:2016" })).toMatchObject({
      extensions: { code: "BAD_USER_INPUT", position: 1, length: 7 },
    });
    expect(await refuse({ text: "b\u0000" })).toMatchObject({
      extensions: { code: "BAD_USER_INPUT" },
    });
  });

  test("contain only rows that the caller can read, and are audited like reads", async () => {
    const { token: staff, userId } = await service.login(["users.read"], "anna@example.com");
    const { data } = await service.ask(document, {
      token: staff,
      variables: { entity: "users", text: "anna" },
    });
    // A person without a name is listed by address.
    expect(data.suggestions).toMatchObject([{ id: userId, name: "anna@example.com" }]);
    const { rows } = await service.database.pool.query(
      "select entity_type, metadata from audit_log where operation = 'READ' and actor_user_id = $1",
      [userId],
    );
    expect(rows).toMatchObject([
      { entity_type: "User", metadata: { field: "suggestions", rows: 1 } },
    ]);
  });
});

describe("suggestions in a large table", () => {
  let database: TestDatabase;
  let api: InProcess;

  const fill = (from: number, to: number) =>
    database.pool.query(
      `set session_replication_role = replica;
       insert into products (id, erp_product_number, name)
         select md5(i::text)::uuid, 'n' || i, (array['Barolo', 'Chinon', 'Old Barolo'])[1 + i % 3] || ' ' || i from generate_series(${from}, ${to}) i;
       set session_replication_role = default`,
    );

  beforeAll(async () => {
    database = await createDatabase();
    const client = await database.pool.connect();
    await logPlans(client);
    const { rows } = await client.query<{ name: string }>("select current_database() as name");
    await client.query(`alter database ${rows[0]?.name} set auto_explain.log_buffers = on`);
    client.release();
    api = await makeInProcess(database);
  });
  afterAll(async () => {
    await api?.stop();
    await database.drop();
  });

  /** The number of database pages that the statements on products read. */
  async function pagesFor(text: string): Promise<number> {
    api.notices();
    const { suggestions } = await api.ask(
      `query ($text: String!) { suggestions(entity: "products", text: $text) { name } }`,
      ["products.read"],
      { text },
    );
    expect(suggestions.length).toBe(text.startsWith("zz") ? 0 : 8);
    const pages = readPlans(api.notices())
      .filter((plan) => plan.some((node) => node["Relation Name"] === "products"))
      .map(([top]) => (top?.["Shared Hit Blocks"] ?? 0) + (top?.["Shared Read Blocks"] ?? 0));
    // The second one finds an equal name that the first one may have left out.
    expect([1, 2]).toContain(pages.length);
    return pages.reduce((sum, count) => sum + count, 0);
  }

  test("read no more pages with ten times as many rows", async () => {
    const texts = ["b", "ba", "bar", "barolo", "old", "zzz"];
    await fill(1, 10_000);
    await database.pool.query("vacuum analyze products");
    const small = new Map<string, number>();
    for (const text of texts) small.set(text, await pagesFor(text));
    await fill(10_001, 100_000);
    await database.pool.query("vacuum analyze products");
    for (const text of texts) {
      const pages = await pagesFor(text);
      const allowed = 2.5 * Math.max(small.get(text) ?? 0, 150);
      expect({ text, pages, isBounded: pages <= allowed }).toMatchObject({ isBounded: true });
    }
  });

  test("rank an exact name first, however many names begin with it", async () => {
    await database.pool.query(
      "insert into products (id, erp_product_number, name) values ('ffffffff-0000-7000-8000-000000000000', 'exact', 'Old Barolo')",
    );
    const { suggestions } = await api.ask(
      `{ suggestions(entity: "products", text: "old barolo") { name detail } }`,
      ["products.read"],
    );
    expect(suggestions[0]).toEqual({ name: "Old Barolo", detail: "exact" });
  });
});
