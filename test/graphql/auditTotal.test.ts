import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { maxTotal } from "../../src/audit/auditFilter.ts";
import { type Service, startService, startServerProcess } from "../helpers/service.ts";

let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService();
  ({ token } = await service.login(["audit.read"]));
});
afterAll(async () => {
  await service.stop();
});

async function add(count: number): Promise<void> {
  await service.database.pool.query(
    "insert into audit_log (operation, entity_type) select 'CREATE', 'Bulk' from generate_series(1, $1)",
    [count],
  );
}

async function page(input: Record<string, unknown>) {
  const answer = await service.ask(
    "query ($input: AuditLogQueryInput) { auditLogs(input: $input) { total totalIsExact items { id } } }",
    { token, variables: { input } },
  );
  expect(answer.errors).toBeUndefined();
  return answer.data.auditLogs;
}

test("the total is exact up to 50,000 rows and a marked lower bound above", async () => {
  expect(maxTotal).toBe(50_000);
  await add(maxTotal);
  const input = { entityType: "Bulk", limit: 1 };
  expect(await page(input)).toMatchObject({ total: maxTotal, totalIsExact: true });
  await add(1);
  expect(await page(input)).toMatchObject({ total: maxTotal, totalIsExact: false });

  // Rows above the limit can still be read.
  const { items } = await page({ ...input, offset: maxTotal });
  expect(items).toHaveLength(1);
  expect((await page({ ...input, offset: maxTotal + 1 })).items).toEqual([]);
  expect(await page({ entityType: "Reviewer" })).toEqual({
    total: 0,
    totalIsExact: true,
    items: [],
  });
});

test("the total and its exactness need one count", async () => {
  const { pool } = service.database;
  await pool.query(
    "alter database " +
      new URL(service.database.url).pathname.slice(1) +
      " set track_functions = 'all'",
  );
  // A pooler keeps earlier connections open.
  await endPooledConnections();
  const other = await startServerProcess({ database: service.database });
  const ask = `{ auditLogs(input: {entityType: "Reviewer"}) { total totalIsExact } }`;
  for (let round = 0; round < 3; round++)
    expect((await other.ask(ask, { token })).errors).toBeUndefined();
  // A connection reports its statistics when it ends at the latest.
  await other.stop();
  await endPooledConnections();
  const { rows } = await pool.query<{ calls: number }>(
    "select coalesce(sum(calls), 0)::integer as calls from pg_stat_user_functions where funcname = 'count_audit_log'",
  );
  expect(rows).toEqual([{ calls: 3 }]);
});

/** Ends PgBouncer's connections to this database; only PgBouncer logs in as the server's role. */
async function endPooledConnections(): Promise<void> {
  const { rows } = await service.database.pool.query<{ ended: boolean }>(
    `select pg_terminate_backend(pid, 10000) as ended from pg_stat_activity
     where datname = current_database() and usename = 'office_server'`,
  );
  expect(rows.every(({ ended }) => ended)).toBe(true);
}

test("times in different zones are compared as instants", async () => {
  await page({ from: "2026-01-01T00:00:00+02:00", to: "2025-12-31T23:00:00Z" });
  const answer = await service.ask(
    `{ auditLogs(input: {from: "2025-12-31T23:30:00-02:00", to: "2026-01-01T00:30:00Z"}) { total } }`,
    { token },
  );
  expect(answer.errors?.[0]?.extensions).toMatchObject({
    code: "BAD_USER_INPUT",
    path: ["input", "from"],
  });
});
