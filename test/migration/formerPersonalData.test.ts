import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import {
  type ExtraSqlDir,
  createExtraSqlDir,
  runMigrate,
} from "../helpers/migration/extraSqlDir.ts";
import { type Service, startService } from "../helpers/service.ts";

let database: TestDatabase;
let own: ExtraSqlDir;
let service: Service | undefined;

beforeAll(async () => {
  [database, own] = await Promise.all([createDatabase(), createExtraSqlDir()]);
});
afterAll(async () => {
  await service?.stop();
  await own.remove();
  await database.drop();
});

const table = (name: string, type: string) => `
  create table ${name} (
    id uuid primary key default uuidv7(),
    customer_id uuid not null references customers on delete cascade,
    title text not null,
    words text
  );
  create index ${name}_customer_id_idx on ${name} (customer_id);
  comment on table ${name} is '@read customers.read
@audit ${type}
What customers told us.';
  comment on column ${name}.title is 'The kind of message.';
  comment on column ${name}.words is '@personal customer_id
The words of the customer.';`;

async function migrate(args: readonly string[] = []): Promise<void> {
  const { code, output } = await runMigrate(database.url, own.path, args);
  expect(output).not.toMatch(/nothing was changed/);
  expect(code).toBe(0);
}

test("an erasure covers the audit log of columns and tables that were renamed or dropped", async () => {
  const { pool } = database;
  const tables = ["renamed", "dropped", "moved", "gone"];
  await own.migration(
    "messages",
    tables
      .map((name) => table(`${name}_messages`, `${name[0]?.toUpperCase()}${name.slice(1)}Message`))
      .join("\n"),
  );
  await migrate();
  const { rows } = await pool.query<{ id: string }>(
    "insert into customers (erp_customer_number, name) values ('C1', 'Vinbaren'), ('C2', 'Other') returning id",
  );
  const [customer, other] = rows.map(({ id }) => id);
  for (const name of tables) {
    await pool.query(
      `insert into ${name}_messages (customer_id, title, words) values ($1, 'Praise', 'Wordsofvinbaren'), ($2, 'Praise', 'Wordsofother')`,
      [customer, other],
    );
    await pool.query(
      `delete from ${name}_messages where customer_id = $1 and title = 'Praise' and $2`,
      [customer, name === "moved"],
    );
  }
  await own.migration(
    "later",
    `-- lint: allow rename because nobody uses it yet
     alter table renamed_messages rename column words to story;
     -- lint: allow drop-column because nobody uses it yet
     alter table dropped_messages drop column words;
     -- lint: allow rename because nobody uses it yet
     alter table moved_messages rename column customer_id to client_id;
     comment on column moved_messages.words is '@personal client_id
The words of the client.';
     -- lint: allow drop-table because nobody uses it yet
     drop table gone_messages;`,
  );
  await migrate(["--allow-breaking"]);
  service = await startService({ database, env: { DATABASE_EXTRA_SQL_DIR: own.path } });
  const { token } = await service.login(["customers.erase", "customers.read"]);
  const wordsIn = async (text: string) =>
    (
      await pool.query<{ entity_type: string }>(
        "select distinct entity_type from audit_log where before::text like $1 or after::text like $1 order by 1",
        [`%${text}%`],
      )
    ).rows.map((row) => row.entity_type);
  const types = ["DroppedMessage", "GoneMessage", "MovedMessage", "RenamedMessage"];
  expect(await wordsIn("Wordsofvinbaren")).toEqual(types);
  const { errors } = await service.ask(
    "mutation ($id: ID!) { anonymiseCustomer(id: $id) { id } }",
    { token, variables: { id: customer } },
  );
  expect(errors).toBeUndefined();
  expect(await wordsIn("Wordsofvinbaren")).toEqual([]);
  expect(await wordsIn("Wordsofother")).toEqual(types);
  // What is not personal stays.
  const { rows: kept } = await pool.query(
    "select distinct after ->> 'title' as title from audit_log where entity_type = any ($1) and operation = 'CREATE'",
    [types],
  );
  expect(kept).toEqual([{ title: "Praise" }]);
});
