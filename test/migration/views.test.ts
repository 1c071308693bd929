import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "graphql";
import { brokenViewTags } from "../../src/migration/viewTags.ts";
import { dumpSchema } from "../../dev/dump/dumpSchema.ts";
import { lintMigration } from "../../src/migration/lint/lint.ts";
import { prepareRead } from "../../src/sqlJson/compileRead.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import { type GrafastAlone, makeGrafastAlone } from "../helpers/grafastAlone.ts";
import { requestOf, sessionWith } from "../helpers/requestOf.ts";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import {
  createExtraSqlDir,
  runMigrate,
  suppliersFolder,
} from "../helpers/migration/extraSqlDir.ts";

const all = ["suppliers.read", "products.read", "customers.read", "reports.read", "audit.read"];
const views = await readFile(
  join(import.meta.dirname, "../fixtures/migration/views/views.sql"),
  "utf8",
);

let database: TestDatabase;
let own: ExtraSqlDir;
let service: Service;
let alone: GrafastAlone;
let token: string;

beforeAll(async () => {
  [database, own] = await Promise.all([createDatabase(), createExtraSqlDir(suppliersFolder)]);
  await own.migration("views", views);
  await own.logic(
    "suppliers_reach",
    `create or replace view supplier_reaches with (security_invoker = true) as
       select s.id, s.name, suppliers_product_count(s) as reach from suppliers s;
     comment on view supplier_reaches is '@read suppliers.read products.read\n@audit off because its figures name nobody\n@primaryKey id\nHow many products come from each.';
     comment on column supplier_reaches.name is 'What they are called.';
     comment on column supplier_reaches.reach is 'How many products.';
     create or replace function supplier_reaches_rank(supplier supplier_reaches) returns integer as $$
       select count(*)::integer + 1 from supplier_reaches o where o.reach > supplier.reach
     $$ language sql stable;
     comment on function supplier_reaches_rank is '@computed\n@notNull\nIts place.';
     create or replace function suppliers_beyond(reach integer) returns setof supplier_reaches as $$
       select r.* from supplier_reaches r where r.reach > suppliers_beyond.reach
     $$ language sql stable;
     comment on function suppliers_beyond is '@guard suppliers.read products.read\nThose with more products.';
     grant execute on function supplier_reaches_rank, suppliers_beyond to office_api;`,
  );
  expect(await runMigrate(database.url, own.path)).toMatchObject({ code: 0 });
  await database.pool.query(`
    insert into suppliers (name, country, status, labels, credit_limit) values
      ('Établissements Durand', 'FR', 'ACTIVE', '{organic}', 10.50), ('Cantina Rossi', 'IT', 'ACTIVE', '{}', null),
      ('Weingut Gross', 'DE', 'CLOSED', '{}', 3);
    insert into products (erp_product_number, name, vintage, alcohol_percent, supplier_id)
    select n::text, 'Wine ' || n, 2010 + n % 3, 12.5 + n % 2, s.id
    from generate_series(1, 7) as n join suppliers s on s.country = case when n < 5 then 'FR' else 'DE' end;
    insert into customers (erp_customer_number, name) values ('C1', 'Vinhandel Ø');`);
  service = await startService({
    database,
    env: { DATABASE_EXTRA_SQL_DIR: own.path, ENABLE_E2E_TEST_MODE: "true" },
  });
  alone = await makeGrafastAlone(database);
  ({ token } = await service.login(all));
});
afterAll(async () => {
  await alone.stop();
  await service.stop();
  await Promise.all([database.drop(), own.remove()]);
});

/** Runs a query in both engines, compares the results, and ensures that SQL alone was one of them. */
async function ask(query: string) {
  const answer = await service.ask(query, { token });
  expect(answer.errors).toBeUndefined();
  expect(prepareRead(alone.schema, parse(query), null)?.prepare({}, {})?.compile()).toBeTruthy();
  const { data } = await alone.answer(query, requestOf(sessionWith(all)), {});
  expect(data).toEqual(answer.data);
  return answer.data;
}
const idOf = async (name: string) => {
  const { rows } = await database.pool.query("select id from suppliers where name = $1", [name]);
  return (rows as { id: string }[])[0]?.id ?? "";
};

test("the views follow the linter's rules", () => {
  const problems = lintMigration("0002_views.sql", views);
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
});

describe("a view added by one migration", () => {
  test("is paged, searched and sorted", async () => {
    const data = await ask(`{
      all: openSuppliers(includeTotalCount: true) { totalCount nodes { name country status labels creditLimit } }
      word: openSuppliers(query: "etablissements") { nodes { name } }
      label: openSuppliers(query: "labels:organic country:FR") { nodes { name } }
      ordered: openSuppliers(orderBy: [NAME_DESC], first: 1) { nodes { name } pageInfo { hasNextPage } }
    }`);
    expect(data.all).toEqual({
      totalCount: 2,
      nodes: [
        {
          name: "Cantina Rossi",
          country: "IT",
          status: "ACTIVE",
          labels: [],
          creditLimit: null,
        },
        {
          name: "Établissements Durand",
          country: "FR",
          status: "ACTIVE",
          labels: ["organic"],
          creditLimit: "10.50",
        },
      ],
    });
    expect(data.word.nodes).toEqual([{ name: "Établissements Durand" }]);
    expect(data.label.nodes).toEqual([{ name: "Établissements Durand" }]);
    expect(data.ordered).toEqual({
      nodes: [{ name: "Établissements Durand" }],
      pageInfo: { hasNextPage: true },
    });
  });

  test("continues from a cursor", async () => {
    const { pages } = await ask(
      `{ pages: supplierTotals(first: 1) { nodes { productCount } pageInfo { endCursor } } }`,
    );
    const { endCursor } = pages.pageInfo;
    const { rest } = await ask(
      `{ rest: supplierTotals(after: "${endCursor}") { nodes { productCount } } }`,
    );
    expect([...pages.nodes, ...rest.nodes]).toEqual([
      { productCount: "4" },
      { productCount: "3" },
      { productCount: "0" },
    ]);
  });

  test("returns numbers and JSON of a group", async () => {
    const id = await idOf("Weingut Gross");
    const { supplierTotal } = await ask(
      `{ supplierTotal(supplierId: "${id}") { productCount averageAlcohol latestVintage details supplier { name } } }`,
    );
    expect(supplierTotal).toEqual({
      productCount: "3",
      averageAlcohol: "13.17",
      latestVintage: 2012,
      details: { names: ["Wine 5", "Wine 6", "Wine 7"] },
      supplier: { name: "Weingut Gross" },
    });
  });

  test("is available through the rows that it refers to", async () => {
    const { suppliers } =
      await ask(`{ suppliers(query: "totals.productCount:>3 wines.vintage:2010") {
      nodes { name totals { productCount } wines(first: 1, query: "wine", includeTotalCount: true) { totalCount nodes { name status supplier { country } } } } } }`);
    expect(suppliers.nodes).toEqual([
      {
        name: "Établissements Durand",
        totals: { productCount: "4" },
        wines: {
          totalCount: 4,
          nodes: [{ name: "Wine 1", status: "ACTIVE", supplier: { country: "FR" } }],
        },
      },
    ]);
  });

  test("has aggregates and groups", async () => {
    const { data } = await service.ask(
      `{ suppliedWines(query: "status:IN(ACTIVE, CLOSED)") {
        aggregates { count max { vintage } average { alcoholPercent } }
        groupedAggregates(groupBy: [STATUS]) { keys count } } }`,
      { token },
    );
    expect(data.suppliedWines).toEqual({
      aggregates: {
        count: 7,
        max: { vintage: 2012 },
        average: { alcoholPercent: expect.any(String) },
      },
      groupedAggregates: [
        { keys: ["ACTIVE"], count: 4 },
        { keys: ["CLOSED"], count: 3 },
      ],
    });
  });

  test("can read another view", async () => {
    const data = await ask(`{ largestSuppliers { name productCount } }`);
    expect(data.largestSuppliers).toEqual([{ name: "Établissements Durand", productCount: "4" }]);
  });

  test("finds a row by a key of two columns", async () => {
    const id = await idOf("Établissements Durand");
    const data = await ask(
      `{ there: vintage(supplierId: "${id}", vintage: 2011) { wines } none: vintage(supplierId: "${id}", vintage: 1) { wines } vintages { wines } }`,
    );
    expect(data).toMatchObject({ there: { wines: 2 }, none: null });
    expect(data.vintages).toHaveLength(6);
  });

  test("audits reads of rows from audited tables", async () => {
    const { parties } = await ask(`{ parties { nodes { name kind } } }`);
    expect(parties.nodes).toContainEqual({ name: "Vinhandel Ø", kind: "customer" });
    const { data } = await service.ask(
      `{ auditLogs(input: { entityType: "Party" }) { items { operation metadata } } }`,
      { token },
    );
    expect(data.auditLogs.items[0]).toMatchObject({
      operation: "READ",
      metadata: { field: "parties", rows: 4 },
    });
  });

  test("requires all permissions of its tag and of its tables", async () => {
    const { token: narrow } = await service.login(["suppliers.read", "products.read"]);
    const { errors } = await service.ask(`{ vintages { wines } }`, { token: narrow });
    expect(errors?.[0]?.message).toBe("Missing required permission: reports.read");
    const { token: other } = await service.login(["suppliers.read"]);
    const { data } = await service.ask(`{ suppliers { nodes { wines { nodes { name } } } } }`, {
      token: other,
    });
    expect(data.suppliers.nodes).toEqual([1, 2, 3].map(() => ({ wines: { nodes: [] } })));
  });

  test("is read-only", async () => {
    const { data } = await service.ask(`{ __type(name: "Mutation") { fields { name } } }`, {
      token,
    });
    expect(JSON.stringify(data)).not.toMatch(/OpenSupplier|Total|Party|Vintage/);
    const { rows } = await database.pool.query(
      `select c.relname, g.privilege_type from pg_class c, aclexplode(c.relacl) g
       where c.relkind = 'v' and c.relnamespace = 'backoffice'::regnamespace and g.grantee = 'office_api'::regrole`,
    );
    expect(
      new Set((rows as { privilege_type: string }[]).map((row) => row.privilege_type)),
    ).toEqual(new Set(["SELECT"]));
  });

  test("reports a null despite @notNull as an error, in both engines", async () => {
    const query = `{ openSuppliers { nodes { name firstLabel } } }`;
    const { data, errors } = await service.ask(query, { token });
    const grafast = await alone.answer(query, requestOf(sessionWith(all)), {});
    expect(data).toEqual(grafast.data);
    expect(errors).toMatchObject([
      { path: ["openSuppliers", "nodes", 0, "firstLabel"], extensions: { code: "INTERNAL" } },
    ]);
  });

  test("lists its searchable fields", async () => {
    const { data } = await service.ask(`{ searchFields(type: "openSuppliers") { name kind } }`, {
      token,
    });
    expect(data.searchFields).toEqual(
      expect.arrayContaining([
        { name: "status", kind: "ENUM" },
        { name: "labels", kind: "TEXT" },
        { name: "creditLimit", kind: "DECIMAL" },
        { name: "supplier.name", kind: "TEXT" },
      ]),
    );
  });

  test("is in the dump, with its grants and comments", async () => {
    const client = await database.pool.connect();
    try {
      const dump = await dumpSchema(client, "backoffice");
      expect(dump).toContain("create view parties with (security_invoker=true) as");
      expect(dump).toContain("grant select on parties to office_api;");
      expect(dump).toContain("comment on view parties is '@read suppliers.read customers.read");
      expect(dump).toContain("comment on column parties.kind is");
    } finally {
      client.release();
    }
  });

  test("is created by a logic file when it calls functions of the logic", async () => {
    expect(
      await ask(`{ supplierReaches(orderBy: [REACH_DESC], first: 1) { name reach rank } }`),
    ).toEqual({ supplierReaches: [{ name: "Établissements Durand", reach: 4, rank: 1 }] });
  });

  test("can be a function's return type", async () => {
    const { data } = await service.ask(`{ suppliersBeyond(reach: 2) { name rank } }`, { token });
    expect(data.suppliersBeyond).toEqual([
      { name: "Établissements Durand", rank: 1 },
      { name: "Weingut Gross", rank: 2 },
    ]);
  });

  test("is accepted with a warning when its promises take too long to check", async () => {
    const lines: string[] = [];
    await inTransaction(database.pool, async (client) => {
      await client.query(`create view long with (security_invoker = true) as select n from generate_series(1, 100000000) as n;
        comment on view long is '@primaryKey n'`);
      expect(await brokenViewTags(client, (line) => lines.push(line), 20)).toEqual([]);
    });
    expect(lines[0]).toBe(
      'WARNING: not checked within 20 ms: view long: the tag @primaryKey is "n", and several rows have the same',
    );
  });

  test("reports a null in a list as an error, in both engines", async () => {
    const query = `{ suppliers(query: "country:IT") { nodes { labels } } }`;
    await database.pool.query("update suppliers set labels = '{a,null}' where country = 'IT'");
    try {
      const { data, errors } = await service.ask(query, { token });
      const grafast = await alone.answer(query, requestOf(sessionWith(all)), {});
      expect(data).toEqual(grafast.data);
      expect(errors?.[0]?.extensions.code).toBe("INTERNAL");
    } finally {
      await database.pool.query("update suppliers set labels = '{}' where country = 'IT'");
    }
  });

  test("shows a test run's rows in that run", async () => {
    const headers = { "X-Test-run-id": "with_views" };
    const first = await service.ask(
      `mutation { bootstrapFirstUser(email: "first@example.com") { token } }`,
      { headers },
    );
    const { data, errors } = await service.ask(
      `{ openSuppliers { nodes { name } } supplierTotals { aggregates { count } } }`,
      { headers, token: first.data.bootstrapFirstUser.token },
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      openSuppliers: { nodes: [] },
      supplierTotals: { aggregates: { count: 0 } },
    });
  });

  test("does not change when the command runs again", async () => {
    expect(await runMigrate(database.url, own.path)).toMatchObject({ code: 0 });
    expect((await database.pool.query("select * from schema_violations()")).rows).toEqual([]);
  });
});
