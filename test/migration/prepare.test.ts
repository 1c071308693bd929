import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { createExtraSqlDir, runMigrate } from "../helpers/migration/extraSqlDir.ts";
import { startService } from "../helpers/service.ts";

let database: TestDatabase;
let own: ExtraSqlDir;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  own = await createExtraSqlDir();
});
afterEach(() => own.remove());

const prepare = (sql: string) => writeFile(join(own.path, "prepare.sql"), sql);
const extensions = async () =>
  (
    await database.pool.query<{ name: string; schema: string }>(
      "select extname as name, extnamespace::regnamespace::text as schema from pg_extension order by 1",
    )
  ).rows;

test("a statement of prepare.sql that fails is refused with its line, and nothing is changed", async () => {
  const before = await extensions();
  await prepare(
    "create extension if not exists fuzzystrmatch;\n\ncomment on extension fuzystrmatch is 'x';\ncreate extension x_y;",
  );
  const { code, output } = await runMigrate(database.url, own.path);
  expect(output).toContain(
    'prepare.sql:3: extension "fuzystrmatch" does not exist; nothing was changed',
  );
  expect(code).toBe(1);
  await prepare("create extension if not exists fuzzystrmatch;\nselect levenstein('a', 'b');");
  expect((await runMigrate(database.url, own.path)).output).toMatch(
    /prepare\.sql:2: function levenstein\(unknown, unknown\) does not exist; nothing was changed\n {2}> select levenstein/,
  );
  expect(await extensions()).toEqual(before);
});

test("an extension of prepare.sql is used by tables and functions, also by a later migration", async () => {
  await prepare(
    "create extension if not exists fuzzystrmatch; create extension if not exists ltree;",
  );
  await own.migration(
    "shelves",
    `create table shelves (id uuid primary key default uuidv7(), name text not null, place ltree not null);
     create index shelves_place_idx on shelves using gist (place);
     comment on table shelves is E'@read products.read\n@create products.update\n@mutations create\n@audit Shelf\nWhere bottles lie.';
     comment on column shelves.name is 'What it is called.';
     comment on column shelves.place is 'The path from the house to the shelf.';`,
  );
  await own.logic(
    "shelves",
    `create or replace function shelves_sound(shelf shelves) returns text as $$ select soundex(shelf.name) $$ language sql stable;
     comment on function shelves_sound is E'@computed\nHow the name sounds.';
     grant execute on function shelves_sound to office_api;`,
  );
  expect(await runMigrate(database.url, own.path)).toMatchObject({ code: 0 });
  await own.migration(
    "shelf_notes",
    "alter table shelves add note text; comment on column shelves.note is 'A note.';",
  );
  expect(await runMigrate(database.url, own.path)).toMatchObject({ code: 0 });
  expect(await extensions()).toContainEqual({ name: "fuzzystrmatch", schema: "extensions" });

  const service = await startService({ database, env: { DATABASE_EXTRA_SQL_DIR: own.path } });
  const { token } = await service.login(["products.read", "products.update"]);
  const { data, errors } = await service.ask(
    'mutation { createShelf(input: { name: "Robert", place: "house.cellar.a1" }) { place sound note } }',
    { token },
  );
  await service.stop();
  expect(errors).toBeUndefined();
  expect(data.createShelf).toEqual({ place: "house.cellar.a1", sound: "R163", note: null });
});
