import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { lintFolder } from "../../src/migration/lint/lint.ts";
import { actAs, createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { startService } from "../helpers/service.ts";
import type { Answer, Service } from "../helpers/service.ts";
import { runMigrateProcess, suppliersFolder } from "../helpers/migration/extraSqlDir.ts";

const env = { ENABLE_E2E_TEST_MODE: "true" };
const keys = ["read", "create", "update", "delete"].map((verb) => `suppliers.${verb}`);
const run = { "X-Test-run-id": "begun_before" };

let database: TestDatabase;
let service: Service;
let staff: { token: string; userId: string };
/** A session in an isolated test run that existed before the migration. */
let runToken: string;

beforeAll(async () => {
  database = await createDatabase();
  const before = await startService({ database, env });
  const first = `mutation { bootstrapFirstUser(email: "first@example.com") { token } }`;
  await before.ask(first);
  runToken = (await before.ask(first, { headers: run })).data.bootstrapFirstUser.token as string;

  // The whole procedure: the migrate command and a restart of the servers.
  const migrated = await runMigrateProcess(database.url, suppliersFolder);
  expect(migrated).toEqual({ code: 0, output: expect.stringContaining("applying 0001_suppliers") });
  await before.stop();
  service = await startService({
    database,
    env: { ...env, DATABASE_EXTRA_SQL_DIR: suppliersFolder },
  });
  staff = await service.login([
    ...keys,
    "products.read",
    "products.create",
    "products.update",
    "audit.read",
    "permissions.read",
    "roles.read",
  ]);
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const ask = (query: string, variables: Record<string, unknown> = {}, token = staff.token) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});
const create = (input: Record<string, unknown>) =>
  ask(
    `mutation ($input: CreateSupplierInput!) {
      createSupplier(input: $input) { id name country status labels creditLimit shoutedName productCount products { name } }
    }`,
    { input },
  );
const created = async (input: Record<string, unknown>) =>
  (await create(input)).data.createSupplier as { id: string; name: string };
const remove = (id: string) => ask(`mutation ($id: ID!) { deleteSupplier(id: $id) }`, { id });
const found = async (query: string) => {
  const { data, errors } = await ask(
    `query ($q: String) { suppliers(query: $q) { nodes { name } } }`,
    { q: query },
  );
  return errors ?? (data.suppliers.nodes as { name: string }[]).map(({ name }) => name);
};

test("the migration follows the linter's rules", () => {
  const problems = lintFolder(`${suppliersFolder}/migrations`);
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
});

describe("a table added by one migration without other changes", () => {
  test("is created, updated and deleted", async () => {
    const made = await create({
      name: "Weingut Gross",
      country: "DE",
      labels: ["organic"],
      creditLimit: "12.50",
    });
    expect(made.errors).toBeUndefined();
    const { id } = made.data.createSupplier;
    expect(made.data.createSupplier).toEqual({
      id,
      name: "Weingut Gross",
      country: "DE",
      status: "ACTIVE",
      labels: ["organic"],
      creditLimit: "12.50",
      shoutedName: "WEINGUT GROSS",
      productCount: 0,
      products: [],
    });
    const updated = await ask(
      `mutation ($id: ID!) { updateSupplier(id: $id, input: { status: ON_HOLD, country: null, labels: [] }) { name country status labels creditLimit } }`,
      { id },
    );
    expect(updated.data.updateSupplier).toEqual({
      name: "Weingut Gross",
      country: null,
      status: "ON_HOLD",
      labels: [],
      creditLimit: "12.50",
    });
    expect((await remove(id)).data).toEqual({ deleteSupplier: true });
    expect(
      (await ask(`query ($id: ID!) { supplier(id: $id) { name } }`, { id })).data.supplier,
    ).toBeNull();
  });

  test("reports invalid input with the text of its comments", async () => {
    await created({ name: "Once" });
    expect(refusal(await create({ name: "ONCE" }))).toEqual({
      code: "CONFLICT",
      message: "A supplier of this name exists already.",
    });
    expect((await create({ name: "Debtor", creditLimit: "-1" })).errors?.[0]).toMatchObject({
      message: "creditLimit must not be negative",
      extensions: { code: "BAD_USER_INPUT", path: ["input", "creditLimit"] },
    });
    expect((await create({ name: "Shouter", shoutedName: "x" })).errors?.[0]?.message).toMatch(
      /shoutedName/,
    );
  });

  test("is paged in both directions, sorted by indexed columns, and counted", async () => {
    for (const name of ["Page A", "Page B", "Page C", "Page D"])
      await created({ name, country: "XX" });
    const page = async (args: string) => {
      const { data } = await ask(
        `{ suppliers(query: "country:XX", includeTotalCount: true, ${args}) { totalCount nodes { name } pageInfo { hasNextPage endCursor startCursor } } }`,
      );
      const { nodes, totalCount, pageInfo } = data.suppliers;
      return {
        names: nodes.map(({ name }: { name: string }) => name.at(-1)).join(""),
        totalCount,
        pageInfo,
      };
    };
    const first = await page("first: 3");
    expect(first).toMatchObject({ names: "ABC", totalCount: 4, pageInfo: { hasNextPage: true } });
    const second = await page(`first: 3, after: "${first.pageInfo.endCursor}"`);
    expect(second).toMatchObject({ names: "D", pageInfo: { hasNextPage: false } });
    expect(await page(`last: 2, before: "${second.pageInfo.startCursor}"`)).toMatchObject({
      names: "BC",
    });
    expect((await page("orderBy: [COUNTRY_DESC, ID_DESC]")).names).toBe("DCBA");
  });

  test("is searched by words, enumeration, computed field, and related rows", async () => {
    const durand = await created({ name: "Établissements Durand", country: "FR" });
    await ask(
      `mutation { syncProducts(input: { products: [{ erpProductNumber: "000123", fields: { name: "Chinon" } }] }) { createdCount } }`,
    );
    const noted = await ask(
      `mutation ($id: ID!) { noteSupplier(erpProductNumber: "000123", supplierId: $id) { supplierId supplier { name productCount } } }`,
      { id: durand.id },
    );
    expect(noted.data.noteSupplier).toEqual({
      supplierId: durand.id,
      supplier: { name: durand.name, productCount: 1 },
    });
    expect(await found("etabliss* status:ACTIVE")).toEqual([durand.name]);
    expect(await found("productCount:>=1 products.name:Chinon")).toEqual([durand.name]);
    expect(await found("durand status:ON_HOLD")).toEqual([]);
    const products = await ask(
      `{ products(query: "supplier.country:FR") { nodes { name supplier { country } } } }`,
    );
    expect(products.data.products.nodes).toEqual([{ name: "Chinon", supplier: { country: "FR" } }]);
    expect(await found("contry:FR")).toMatchObject([
      {
        message: expect.stringContaining("did you mean `country`?"),
        extensions: { code: "BAD_USER_INPUT" },
      },
    ]);
    // The foreign key has `on delete restrict`.
    expect(refusal(await remove(durand.id))).toEqual({
      code: "CONFLICT",
      message: "Other rows still refer to this one: products",
    });
  });

  test("is aggregated, as a whole and in groups", async () => {
    for (const [name, creditLimit] of [
      ["Sum A", "10.50"],
      ["Sum B", "20.00"],
    ])
      await created({ name, creditLimit, country: "YY" });
    await created({ name: "Sum C", country: "ZZ" });
    const { data } = await ask(`{ suppliers(query: "country:IN(YY, ZZ)") {
      aggregates { count sum { creditLimit } }
      groupedAggregates(groupBy: [COUNTRY]) { keys count average { creditLimit } }
    } }`);
    expect(data.suppliers.aggregates).toEqual({ count: 3, sum: { creditLimit: "30.50" } });
    const [yy, zz] = data.suppliers.groupedAggregates;
    expect(Number(yy.average.creditLimit)).toBe(15.25);
    expect(yy).toMatchObject({ keys: ["YY"], count: 2 });
    expect(zz).toEqual({ keys: ["ZZ"], count: 1, average: { creditLimit: null } });
  });

  test("has its functions as queries with their defaults", async () => {
    await created({ name: "Function FR", country: "FR" });
    const { data } = await ask(
      `query ($none: String) { all: suppliersOf { name } none: suppliersOf(country: $none) { name } closed: suppliersOf(statuses: [CLOSED]) { name } }`,
    );
    expect(data.all).toContainEqual({ name: "Function FR" });
    expect(data.none).toEqual(data.all);
    expect(data.closed).toEqual([]);
  });

  test("requires the permission of each verb", async () => {
    const { id } = await created({ name: "Guarded" });
    const cases: [string, string][] = [
      ["suppliers.read", `{ suppliers { nodes { name } } }`],
      ["suppliers.read", `{ supplier(id: "${id}") { name } }`],
      ["suppliers.read", `{ suppliersOf { name } }`],
      ["suppliers.create", `mutation { createSupplier(input: { name: "x" }) { name } }`],
      [
        "suppliers.update",
        `mutation { updateSupplier(id: "${id}", input: { name: "x" }) { name } }`,
      ],
      ["suppliers.delete", `mutation { deleteSupplier(id: "${id}") }`],
    ];
    for (const [key, query] of cases) {
      const others = await service.login(["products.read", ...keys.filter((one) => one !== key)]);
      expect(refusal(await ask(query, {}, others.token))).toEqual({
        code: "FORBIDDEN",
        message: `Missing required permission: ${key}`,
      });
    }
    expect(refusal(await service.ask(`{ suppliers { nodes { name } } }`)).code).toBe(
      "UNAUTHENTICATED",
    );
  });

  test("is protected by the database itself", async () => {
    await created({ name: "Underneath" });
    const rows = async (permissions: string[], statement: string) =>
      inTransaction(database.pool, async (client) => {
        await actAs(client, { permissions });
        return (await client.query(statement)).rowCount;
      });
    const select = "select name from suppliers where name = 'Underneath'";
    expect(await rows(["products.read"], select)).toBe(0);
    expect(await rows(["suppliers.read"], select)).toBe(1);
    expect(await rows(["suppliers.read"], "delete from suppliers")).toBe(0);
  });

  test("is in the audit log, for changes from any source", async () => {
    const { id } = await created({ name: "Audited", country: "IT" });
    await database.pool.query("update suppliers set country = 'FR' where id = $1", [id]);
    await remove(id);
    const { data } = await ask(
      `query ($id: String) { auditLogs(input: { entityType: "Supplier", entityId: $id }) { items { operation actorUserId before after metadata } } }`,
      { id },
    );
    expect(data.auditLogs.items).toEqual([
      {
        operation: "DELETE",
        actorUserId: staff.userId,
        before: expect.objectContaining({ country: "FR" }),
        after: null,
        metadata: { source: "api" },
      },
      {
        operation: "UPDATE",
        actorUserId: null,
        before: { country: "IT" },
        after: { country: "FR" },
        metadata: { source: "db" },
      },
      {
        operation: "CREATE",
        actorUserId: staff.userId,
        before: null,
        after: expect.objectContaining({ name: "Audited" }),
        metadata: { source: "api" },
      },
    ]);
  });

  test("has its permissions listed and granted to Superadmin", async () => {
    const { data } = await ask(
      `{ permissions { key description } roles { name permissions { key } } }`,
    );
    expect(data.permissions).toContainEqual({
      key: "suppliers.read",
      description: "See suppliers",
    });
    const roles = data.roles as { name: string; permissions: { key: string }[] }[];
    const superadmin = roles.find(({ name }) => name === "Superadmin")?.permissions ?? [];
    expect(superadmin.map(({ key }) => key)).toEqual(expect.arrayContaining(keys));
  });

  test("exists in new and existing isolated test runs", async () => {
    const first = `mutation { bootstrapFirstUser(email: "first@example.com") { token } }`;
    const other = { "X-Test-run-id": "begun_after" };
    const otherToken = (await service.ask(first, { headers: other })).data.bootstrapFirstUser
      .token as string;
    for (const [token, headers] of [
      [runToken, run],
      [otherToken, other],
    ] as const) {
      const made = await service.ask(
        `mutation { createSupplier(input: { name: "Of the run" }) { name } }`,
        { token, headers },
      );
      expect(made.errors).toBeUndefined();
      const seen = await service.ask(`{ suppliers { nodes { name } } }`, { token, headers });
      expect(seen.data.suppliers.nodes).toEqual([{ name: "Of the run" }]);
      expect(
        (await service.ask(`mutation { cleanupTestRun }`, { token, headers })).errors,
      ).toBeUndefined();
    }
    expect(await found('"Of the run"')).toEqual([]);
  });

  test("is described in the API by its comments", async () => {
    const { data } = await ask(`{
      type: __type(name: "Supplier") { description fields { name description } }
      status: __type(name: "SupplierStatus") { description enumValues { name } }
      searchFields(type: "suppliers") { name kind values isToMany description }
      query: __type(name: "Query") { fields(includeDeprecated: true) { name description deprecationReason args { name description } } }
    }`);
    expect(data.type.description).toBe("Who we buy from.");
    expect(data.type.fields).toContainEqual({ name: "country", description: "Where they are." });
    expect(data.status).toEqual({
      description: "How we stand with a supplier.",
      enumValues: ["ACTIVE", "ON_HOLD", "CLOSED"].map((name) => ({ name })),
    });
    expect(data.searchFields).toEqual(
      expect.arrayContaining([
        {
          name: "status",
          kind: "ENUM",
          values: ["ACTIVE", "ON_HOLD", "CLOSED"],
          isToMany: false,
          description: "How we stand with them.",
        },
        expect.objectContaining({ name: "productCount", kind: "INTEGER" }),
        expect.objectContaining({ name: "products.name", isToMany: true }),
      ]),
    );
    const field = (name: string) =>
      data.query.fields.find((one: { name: string }) => one.name === name);
    expect(field("suppliers").description).toContain("Needs `suppliers.read`.");
    expect(field("suppliersOf").deprecationReason).toBe(
      "Use `suppliers`; this goes on 2027-06-01.",
    );
    const search = (name: string) =>
      field(name).args.find((one: { name: string }) => one.name === "query").description as string;
    expect(search("suppliers")).toContain("`status` (ACTIVE, ON_HOLD, CLOSED)");
    expect(search("suppliers")).toMatch(/whole number .*`productCount`/);
    expect(search("products")).toContain("`supplier.country`");
  });
});
