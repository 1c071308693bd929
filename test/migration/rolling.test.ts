import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { migrateTenant } from "../../src/migration/migrateTenant.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { Answer, Service } from "../helpers/service.ts";
import { startService, startServerProcess } from "../helpers/service.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import {
  createExtraSqlDir,
  runMigrate,
  runMigrateProcess,
  suppliersFolder,
} from "../helpers/migration/extraSqlDir.ts";

const keys = [
  ...["products.read", "products.create", "products.update", "reviewers.read", "reviewers.create"],
  ...[
    "campaigns.read",
    "campaigns.create",
    "campaigns.delete",
    "users.read",
    "roles.read",
    "audit.read",
  ],
];

/** A server of the old release that is not restarted. */
let old: Service;
let database: TestDatabase;
let own: ExtraSqlDir;
let token: string;

beforeAll(async () => {
  [database, own] = await Promise.all([createDatabase(), createExtraSqlDir(suppliersFolder)]);
  old = await startService({ database });
  ({ token } = await old.login(keys));
});
afterAll(async () => {
  await old.stop();
  await Promise.all([database.drop(), own.remove()]);
});

let count = 0;
const operations: (() => { query: string; variables?: Record<string, unknown> })[] = [
  () => ({
    query: `mutation ($number: String!) { syncProducts(input: { products: [{ erpProductNumber: $number, fields: { name: "Wine", wineType: "Red", country: "FR" },
      prices: [{ type: "retail", currency: "DKK", amount: "99.00" }], ratings: [{ reviewerName: "A", year: 2026, points: "90" }] }] }) { failedCount products { id } } }`,
    variables: { number: `n${count % 20}` },
  }),
  () => ({
    query: `{ products(query: "wine country:FR wineType.name:Red", includeTotalCount: true) { totalCount nodes { name updatedAt wineType { name } prices { amount } ratings { points reviewer { name } } } } }`,
  }),
  () => ({
    query: `mutation ($name: String!) { createWineType(input: { name: $name, color: "#112233" }) { id name } }`,
    variables: { name: `Type ${count}` },
  }),
  () => ({ query: `{ me { email roles { name } } users { email } wineTypes { name } }` }),
  () => ({
    query: `{ auditLogs(input: { limit: 5 }) { total items { operation after } } campaigns { title product { name } } }`,
  }),
];

/** Sends operations one after the other until stopped; returns the errors. */
async function keepBusy(isOver: () => boolean): Promise<Answer["errors"][]> {
  const failures: Answer["errors"][] = [];
  while (!isOver()) {
    const { query, variables } = operations[count++ % operations.length]?.() ?? { query: "" };
    const { status, errors, data } = await old.ask(query, { token, variables });
    if (errors || status !== 200 || data.syncProducts?.failedCount) failures.push(errors);
  }
  return failures;
}

describe("a running server during an additive migration", () => {
  test("serves all its operations during and after the migration", async () => {
    let last = Infinity;
    const busy = [1, 2, 3, 4].map(() => keepBusy(() => count >= last));
    const migrated = await runMigrateProcess(database.url, own.path);
    expect(migrated).toMatchObject({ code: 0 });
    const during = count;
    last = during + 100;
    expect((await Promise.all(busy)).flat()).toEqual([]);
    // The migration takes a second or more, so the result does not depend on timing.
    expect(during).toBeGreaterThan(20);
    expect(count).toBeGreaterThanOrEqual(during + 100);
  });

  test("keeps its schema beside a new server with the new schema", async () => {
    const fresh = await startServerProcess({ database, env: { DATABASE_EXTRA_SQL_DIR: own.path } });
    try {
      const { token: reader } = await fresh.login(["suppliers.read", "products.read"]);
      const query = `{ suppliers { nodes { name } } }`;
      expect((await fresh.ask(query, { token: reader })).data).toEqual({
        suppliers: { nodes: [] },
      });
      expect((await old.ask(query, { token: reader })).errors?.[0]?.message).toBe(
        'Cannot query field "suppliers" on type "Query".',
      );
      const products = `{ products { nodes { name } } }`;
      const [one, other] = await Promise.all(
        [fresh, old].map((server) => server.ask(products, { token: reader })),
      );
      expect(one?.errors).toBeUndefined();
      expect(other?.data).toEqual(one?.data);
    } finally {
      await fresh.stop();
    }
  });
});

test("a server that reads a dropped column fails only in that field", async () => {
  const service = await startService({ database, env: { DATABASE_EXTRA_SQL_DIR: own.path } });
  try {
    const staff = await service.login(["suppliers.read", "suppliers.create"]);
    const ask = (query: string) => service.ask(query, { token: staff.token });
    const withLabels = `{ suppliers { nodes { name labels } } }`;
    expect((await ask(withLabels)).errors).toBeUndefined();
    await own.migration(
      "suppliers_labels",
      "-- lint: allow drop-column because no caller asks for it any more\nalter table suppliers drop column labels;",
    );
    expect(await runMigrate(database.url, own.path, ["--allow-breaking"])).toMatchObject({
      code: 0,
    });
    expect((await ask(withLabels)).errors?.[0]?.extensions.code).toBe("INTERNAL");
    const made = await ask(
      `mutation { createSupplier(input: { name: "After" }) { name country } }`,
    );
    expect(made.data).toEqual({ createSupplier: { name: "After", country: null } });
    const found = await ask(`{ suppliers(query: "after") { nodes { name status } } }`);
    expect(found.data).toEqual({ suppliers: { nodes: [{ name: "After", status: "ACTIVE" }] } });
  } finally {
    await service.stop();
  }
});

test("a server started during a migration waits and serves the complete new schema", async () => {
  const own = await createExtraSqlDir(suppliersFolder);
  const database = await createDatabase();
  const client = await database.pool.connect();
  const done = Promise.withResolvers<undefined>();
  const reached = Promise.withResolvers<undefined>();
  try {
    // Like the migrate command, stopped after all changes and before the commit.
    const migrated = migrateTenant(client, "backoffice", {
      extraSqlDir: own.path,
      check: () => {
        reached.resolve(undefined);
        return done.promise;
      },
    });
    await reached.promise;
    const starting = startService({ database, env: { DATABASE_EXTRA_SQL_DIR: own.path } });
    await waitFor("the server to ask for the migration's lock", async () => {
      const { rows } = await database.pool.query(
        `select from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()
           and query like 'select pg_try_advisory_xact_lock_shared%'`,
      );
      return rows.length > 0;
    });
    done.resolve(undefined);
    await migrated;
    const service = await starting;
    try {
      expect(service.output()).toContain("start waiting for migration");
      const { token } = await service.login([
        "suppliers.read",
        "suppliers.create",
        "products.read",
      ]);
      const { data, errors } = await service.ask(
        `{ suppliers { nodes { name products { name } } } products(query: "supplier.country:FR") { nodes { supplier { name } } } }`,
        { token },
      );
      expect(errors).toBeUndefined();
      expect(data).toEqual({ suppliers: { nodes: [] }, products: { nodes: [] } });
      // Constraint messages use the new schema too.
      const refused = await service.ask(
        `mutation { createSupplier(input: { name: "Debtor", creditLimit: "-1" }) { name } }`,
        { token },
      );
      expect(refused.errors?.[0]?.message).toBe("creditLimit must not be negative");
    } finally {
      await service.stop();
    }
  } finally {
    client.release();
    await Promise.all([database.drop(), own.remove()]);
  }
});
