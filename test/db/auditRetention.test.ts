import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { createDatabase } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

// None of these months has a partition, so all rows are in the default ones.
const months = [-20, -10, -2];
beforeEach(async () => {
  await database.pool.query(
    `insert into audit_log (operation, entity_type, created_at)
     select operation, 'Month ' || month, now() + month * interval '1 month'
     from unnest(array['CREATE', 'DELETE', 'READ']) as o(operation), unnest($1::integer[]) as m(month)`,
    [months],
  );
});

/** Runs the statement as the worker. */
async function endRetention(writeDays: number, readDays: number): Promise<string[]> {
  const client = await database.pool.connect();
  try {
    await client.query("begin; set local role office_worker");
    const { rows } = await client.query<{ name: string }>(
      "select drop_old_audit_partitions($1, $2) as name",
      [writeDays, readDays],
    );
    await client.query("commit");
    return rows.map(({ name }) => name).sort();
  } finally {
    client.release();
  }
}

async function kept(): Promise<string[]> {
  const { rows } = await database.pool.query<{ row: string }>(
    "select distinct operation || ' ' || entity_type as row from audit_log where entity_type like 'Month%' order by 1",
  );
  return rows.map(({ row }) => row);
}

test("retention removes expired rows of default partitions and keeps the others", async () => {
  expect(await endRetention(400, 90)).toEqual([
    "audit_log_reads_default",
    "audit_log_writes_default",
  ]);
  expect(await kept()).toEqual([
    "CREATE Month -10",
    "CREATE Month -2",
    "DELETE Month -10",
    "DELETE Month -2",
    "READ Month -2",
  ]);
  expect(await endRetention(400, 90)).toEqual([]);
});

test("the new default partition is append-only and has the same indexes", async () => {
  const shape = async () =>
    (
      await database.pool.query(
        `select t.relid::regclass::text as name, c.relrowsecurity, c.relforcerowsecurity, c.relowner::regrole::text as owner, c.relacl::text,
           array(select g.tgname::text from pg_trigger g where g.tgrelid = t.relid and not g.tgisinternal order by 1) as triggers,
           array(select regexp_replace(pg_get_indexdef(i.indexrelid), '^.* USING', '') from pg_index i where i.indrelid = t.relid order by 1) as indexes
         from pg_partition_tree('audit_log') t join pg_class c on c.oid = t.relid order by 1`,
      )
    ).rows;
  const before = await shape();
  for (let night = 0; night < 2; night++) {
    await database.pool.query(
      "insert into audit_log (operation, entity_type, created_at) values ('READ', 'Old', now() - interval '1 year')",
    );
    expect(await endRetention(40_000, 90)).toEqual(["audit_log_reads_default"]);
    expect(await shape()).toEqual(before);
  }
  const { rows } = await database.pool.query<{ count: number }>(
    "select count(*)::integer as count from audit_log_reads_default",
  );
  expect(rows[0]?.count).toBeGreaterThan(0);
  for (const statement of ["delete from", "truncate"])
    await expect(database.pool.query(`${statement} audit_log_reads_default`)).rejects.toThrow(
      "append-only",
    );
  const { rows: broken } = await database.pool.query("select schema_violations()");
  expect(broken).toEqual([]);
});
