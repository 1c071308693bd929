import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createDatabase } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";

let database: TestDatabase;
let roles: string[];
/** The audit log, its two partition trees, and all partitions with rows. */
let tables: string[];

beforeAll(async () => {
  database = await createDatabase();
  const read = async (text: string) =>
    (await database.pool.query<{ name: string }>(text)).rows.map(({ name }) => name);
  roles = await read("select rolname as name from pg_roles where rolname ~ '^office_' order by 1");
  tables = await read("select relid::regclass::text as name from pg_partition_tree('audit_log')");
  // Rows of this month, the next month, and an old month in the default partitions.
  await database.pool.query(
    `insert into audit_log (operation, entity_type, created_at)
     select operation, 'Thing', now() + month * interval '1 month'
     from unnest(array['CREATE', 'READ']) as o(operation), unnest(array[-20, 0, 1]) as m(month)`,
  );
});
afterAll(() => database.drop());

const statementsFor = (table: string) => [
  `delete from ${table}`,
  `update ${table} set entity_type = 'x'`,
  `update ${table} set operation = operation`,
  `truncate ${table}`,
  `truncate ${table} cascade`,
  `merge into ${table} as t using (values (1)) as v on true when matched then delete`,
];

/** The number of rows that a statement changes as a role; 0 when it is rejected. */
async function reached(role: string, statement: string): Promise<number> {
  const client = await database.pool.connect();
  try {
    const count = async () =>
      (
        await client.query<{ count: number }>(
          "select count(*)::integer as count from audit_log where entity_type = 'Thing'",
        )
      ).rows[0]?.count ?? 0;
    await client.query("begin");
    const before = await count();
    await client.query(`savepoint attempt; set local role ${role}`);
    try {
      const { rowCount } = await client.query(statement);
      await client.query("reset role");
      return (rowCount ?? 0) + before - (await count());
    } catch {
      return 0;
    }
  } finally {
    await client.query("rollback");
    client.release();
  }
}

test("retention rejects a limit that would remove recent rows", async () => {
  for (const days of ["-100000, -100000", "400, 0", "null, 90", "30, 30"])
    await expect(database.pool.query(`select drop_old_audit_partitions(${days})`)).rejects.toThrow(
      "at least 31 days",
    );
});

describe("The audit log", () => {
  test("rejects updates, deletes and truncation by every role, for parents and partitions", async () => {
    expect(roles).toEqual(
      expect.arrayContaining(["office_api", "office_owner", "office_server", "office_worker"]),
    );
    expect(tables.length).toBeGreaterThanOrEqual(11);
    const done: string[] = [];
    for (const role of roles)
      for (const statement of tables.flatMap(statementsFor)) {
        const rows = await reached(role, statement);
        if (rows !== 0) done.push(`${role}: ${statement}: ${rows} rows`);
      }
    expect(done).toEqual([]);
  });

  test("rejects truncation by an administrator, unless the trigger is disabled", async () => {
    for (const table of tables) {
      expect([table, await reached("none", `truncate ${table}`)]).toEqual([table, 0]);
      expect([table, await reached("none", `delete from ${table}`)]).toEqual([table, 0]);
    }
    await database.pool.query("drop trigger _900_no_truncate on audit_log_writes_default");
    expect(await reached("office_owner", "truncate audit_log_writes_default")).toBe(1);
  });

  test("protects partitions that the job creates later", async () => {
    await database.pool.query("select ensure_audit_partitions(5)");
    const { rows } = await database.pool.query(
      `select relid::regclass::text as name from pg_partition_tree('audit_log') as t
       where not exists (select from pg_trigger g where g.tgrelid = t.relid and g.tgname = '_900_no_truncate')
         and t.relid <> 'audit_log_writes_default'::regclass`,
    );
    expect(rows).toEqual([]);
  });
});
