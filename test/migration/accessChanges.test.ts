import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { createExtraSqlDir, runMigrate } from "../helpers/migration/extraSqlDir.ts";

const comment = (tags: string) => `comment on table cellar_keys is '${tags}\nKeys of cellars.';`;
const keys = `create table cellar_keys (id uuid primary key default uuidv7(), user_id uuid not null references users on delete cascade);
create index cellar_keys_user_id_idx on cellar_keys (user_id);
${comment("@read login\n@owner user_id\n@audit CellarKey")}
comment on column cellar_keys.user_id is 'Who has the key.';`;

let database: TestDatabase;
let own: ExtraSqlDir;

beforeAll(async () => {
  database = await createDatabase();
  own = await createExtraSqlDir();
  await own.migration("keys", keys);
});
afterAll(async () => {
  await own.remove();
  await database.drop();
});

const migrate = () => runMigrate(database.url, own.path);
const heading = "The migration changes who may use the API:";

test("a new table and a repeated run change no access", async () => {
  const first = await migrate();
  expect([first.code, first.output]).toEqual([0, expect.not.stringContaining(heading)]);
  const again = await migrate();
  expect([again.code, again.output]).toEqual([0, "The database is prepared\n"]);
});

test("a comment that loses the owner of the rows is shown as the wider policy", async () => {
  await own.migration("comment", comment("@read login\n@audit CellarKey"));
  const { code, output } = await migrate();
  expect(output).toContain(
    [
      heading,
      "  ~ policy cellar_keys_read on cellar_keys: select where (is_login() AND (user_id = current_user_id()))",
      "      now select where is_login()\n",
    ].join("\n"),
  );
  expect(code).toBe(0);
});

test("a changed permission is shown at the fields that need it", async () => {
  await own.migration("permission", comment("@read users.read\n@audit CellarKey"));
  await own.logic(
    "keys",
    `select ensure_policy('cellar_keys', 'cellar_keys_open', 'select', 'office_api', 'user_id is not null');
     select ensure_policy('cellar_keys', 'cellar_keys_kept', 'select', 'office_api', 'user_id is not null', restrictive => true);`,
  );
  const { code, output } = await migrate();
  for (const field of ["cellarKey", "cellarKeyPages", "cellarKeys"])
    expect(output).toContain(
      `  ~ Query.${field} needed a login or an unscoped API token, now \`users.read\`\n`,
    );
  expect(output).toContain(
    "  + policy cellar_keys_kept on cellar_keys: restrictive select where (user_id IS NOT NULL)\n",
  );
  expect(output).toContain(
    "  + policy cellar_keys_open on cellar_keys: select where (user_id IS NOT NULL)\n",
  );
  expect(code).toBe(0);
});

test("a dropped policy is shown", async () => {
  await own.logic("keys", "");
  await own.migration("close", "drop policy if exists cellar_keys_open on cellar_keys;");
  const { output } = await migrate();
  expect(output).toContain("  - policy cellar_keys_open on cellar_keys\n");
});
