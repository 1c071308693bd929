import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { sealAll, sealBatch } from "../helpers/db/seals.ts";
import { runCommand } from "../helpers/commands/run.ts";

let database: TestDatabase;
const query = <Row extends pg.QueryResultRow>(sql: string, values?: unknown[]) =>
  database.pool.query<Row>(sql, values);

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const sealOnce = (atMost?: number) => sealBatch(database.pool, atMost);
const seal = (atMost?: number) => sealAll(database.pool, atMost);
const verify = (...args: string[]) =>
  runCommand("src/commands/verifyAudit.ts", args, { DATABASE_URL: database.url });
const add = (count: number, type: string) =>
  query(
    `insert into audit_log (operation, entity_type, entity_id, after)
     select (array['CREATE', 'READ'])[1 + n % 2], $2, n::text, jsonb_build_object('name', 'n' || n) from generate_series(1, $1) n`,
    [count, type],
  );

/** Changes rows as a superuser, for whom triggers and row-level security do not run. */
async function tamper(sql: string, values: unknown[] = []): Promise<void> {
  const client = await database.pool.connect();
  try {
    await client.query("begin; set local session_replication_role = replica");
    await client.query(sql, values);
    await client.query("commit");
  } finally {
    client.release();
  }
}

describe("npm run audit:verify", () => {
  let head = "";
  beforeEach(async () => {
    await add(25, "Thing");
    head = (await seal(10)).at(-1)?.head ?? "";
  });

  test("accepts a log that was sealed in batches", async () => {
    await add(3, "Thing");
    const { code, output } = await verify("--head", head);
    expect(output).toMatch(
      /^writes: \d+ links as they were sealed, sealed up to 20.*, [1-9]\d* rows not sealed yet, head [0-9a-f]{64}$/m,
    );
    expect(code).toBe(0);
  });

  test.each([
    [
      "changed",
      "the row was changed",
      'update audit_log set after = \'{"name": "other"}\' where id = $1',
    ],
    [
      "moved to another time",
      "the row was changed",
      "update audit_log set created_at = created_at + interval '1 second' where id = $1",
    ],
    [
      "given to someone else",
      "the row was changed",
      "update audit_log set actor_user_id = uuidv7() where id = $1",
    ],
    ["deleted", "the row is missing", "delete from audit_log where id = $1"],
  ])("names the row that a superuser has %s", async (_what, problem, sql) => {
    const { rows } = await query<{ id: string }>(
      "select id from audit_log where entity_type = 'Thing' and operation = 'CREATE' order by id desc offset 3 limit 1",
    );
    const id = rows[0]!.id;
    const before = await query<{ row: string }>(
      "select to_jsonb(a)::text as row from audit_log a where id = $1",
      [id],
    );
    await tamper(sql, [id]);
    const { code, output } = await verify();
    expect(output).toMatch(
      new RegExp(`^BROKEN: writes, link \\d+, audit row ${id}: ${problem}$`, "m"),
    );
    expect(output.match(/BROKEN/g)).toHaveLength(1);
    expect(code).toBe(1);
    // Restores the log for the next case.
    await tamper("delete from audit_log where id = $1", [id]);
    await tamper("insert into audit_log select * from jsonb_populate_record(null::audit_log, $1)", [
      before.rows[0]!.row,
    ]);
  });

  test("names a row that was inserted among sealed ones", async () => {
    const { rows } = await query<{ id: string }>(
      `insert into audit_log (id, operation, entity_type)
       select first_id_at(max(uuid_extract_timestamp(id)) - interval '1 ms'), 'READ', 'Forged' from audit_log where entity_type = 'Thing' and operation = 'READ'
       returning id`,
    );
    const { code, output } = await verify();
    expect(output).toContain(`audit row ${rows[0]!.id}: the row was added afterwards`);
    expect(code).toBe(1);
    await tamper("delete from audit_log where entity_type = 'Forged'");
  });

  test("detects a changed link and a truncated chain", async () => {
    await tamper(
      "update audit_seals set row_hashes = row_hashes || '\\x00' where tree = 'writes' and position = 1",
    );
    expect((await verify()).output).toContain(
      "BROKEN: writes, link 1: the link itself was changed",
    );
    await tamper(
      "update audit_seals set row_hashes = substr(row_hashes, 1, length(row_hashes) - 1) where tree = 'writes' and position = 1",
    );
    await tamper("delete from audit_seals s where s.digest = decode($1, 'hex')", [head]);
    expect((await verify()).code).toBe(0);
    const { code, output } = await verify("--head", head);
    expect(output).toContain(`BROKEN: no chain has the head ${head}`);
    expect(code).toBe(1);
  });
});

test("accepts a row that commits after later ones were sealed", async () => {
  await seal();
  const late = await database.pool.connect();
  try {
    await late.query("begin");
    await late.query("insert into audit_log (operation, entity_type) values ('CREATE', 'Late')");
    await add(4, "Early");
    await sealOnce();
    expect(await sealOnce()).toEqual([]);
    await late.query("commit");
  } finally {
    late.release();
  }
  const sealed = await seal();
  expect(sealed.find(({ tree }) => tree === "writes")?.sealed).toBe(3);
  expect((await verify()).code).toBe(0);
});

test("accepts partitions dropped by retention and detects other drops", async () => {
  const old = "first_id_at(now() - interval '500 days' + n * interval '1 ms')";
  await query(
    `insert into audit_log (id, operation, entity_type, created_at)
     select ${old}, 'UPDATE', 'Old', now() - interval '500 days' from generate_series(1, 5) n`,
  );
  // A log whose first rows are this old, without the chains of the other tests.
  await tamper("delete from audit_seals");
  await seal();
  expect((await verify()).code).toBe(0);
  await query("select drop_old_audit_partitions(400, 90)");
  expect((await query("select from audit_log where entity_type = 'Old'")).rowCount).toBe(0);
  expect((await verify()).code).toBe(0);
  await tamper("delete from audit_log where entity_type = 'Early'");
  await query("select seal_audit_drop('writes', now() + interval '1 hour')");
  expect((await verify()).output).toContain(
    "the link lets rows be dropped that retention must keep",
  );
});
