import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import {
  type ExtraSqlDir,
  createExtraSqlDir,
  runMigrate,
} from "../helpers/migration/extraSqlDir.ts";

const cellars = `create type cellar_state as enum ('OPEN', 'FULL');
comment on type cellar_state is 'The state of a cellar.';
create table cellars (id uuid primary key default uuidv7(), state cellar_state not null default 'OPEN');
comment on table cellars is '@read products.read
@audit Cellar
Where wine lies.';
comment on column cellars.state is 'The state.';`;
const newValue = "alter type cellar_state add value 'CLOSED';";
const useOfValue = `insert into cellars (state) values ('CLOSED');
alter table cellars alter column state set default 'CLOSED';`;

let database: TestDatabase;
let own: ExtraSqlDir;

beforeEach(async () => {
  [database, own] = await Promise.all([createDatabase(), createExtraSqlDir()]);
});
afterEach(() => Promise.all([database.drop(), own.remove()]));

const migrate = () => runMigrate(database.url, own.path);
const states = async () =>
  (await database.pool.query<{ state: string }>("select state from cellars")).rows;

test("a later migration uses a value that an earlier one added", async () => {
  await own.migration("cellars", cellars);
  await own.migration("closed", newValue);
  expect(await migrate()).toMatchObject({ code: 0 });
  await own.migration("default", useOfValue);
  expect((await migrate()).output).toContain("applying 0003_default");
  expect(await states()).toEqual([{ state: "CLOSED" }]);
});

test("one run that adds a value and uses it is rejected, and the message says what to do", async () => {
  await own.migration("cellars", cellars);
  await migrate();
  await own.migration("closed", newValue);
  await own.migration("default", useOfValue);
  const { code, output } = await migrate();
  expect(code).toBe(1);
  expect(output).toContain(`0003_default.sql:1: unsafe use of new value "CLOSED"`);
  expect(output).toContain("migrate with the file that adds the value first");
});
