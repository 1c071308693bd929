import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { runCommand } from "../helpers/commands/run.ts";

let database: TestDatabase;
const env = () => ({ DATABASE_URL: database.url });

/** What a worker requires in production; the address answers nobody. */
const workerSettings = {
  SMTP_URL: "smtp://127.0.0.1:9",
  MAIL_FROM: "office@wine.example",
  INVITATION_URL: "https://office.example/invitation",
  S3_ENDPOINT: "http://127.0.0.1:9",
  S3_ACCESS_KEY_ID: "none",
  S3_SECRET_ACCESS_KEY: "none",
  TYPESENSE_URL: "http://127.0.0.1:9",
  TYPESENSE_API_KEY: "none-of-the-real-ones",
  ERP_BASE_URL: "https://127.0.0.1:9",
  ERP_TENANT_ID: "t",
  ERP_ENVIRONMENT: "production",
  ERP_COMPANY_ID: "12345678-1234-1234-1234-123456789abc",
  ERP_CLIENT_ID: "c",
  ERP_CLIENT_SECRET: "s",
  PRODUCT_SYNC_WORKFLOW_URL: "https://127.0.0.1:9",
  PRODUCT_SYNC_WORKFLOW_SECRET: "whsec_YTadI/Th9+aTubBQSG8iD08fvN2vbRsGV4XCmSJzoYk=",
};

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test("npm run doctor finds nothing wrong with a migrated database", async () => {
  const { code, output } = await runCommand("src/commands/doctor.ts", [], env());
  expect(output).toMatch(/^ok +PostgreSQL 18/m);
  expect(output).toMatch(/^ok +schema "backoffice" is of this release$/m);
  expect(output).not.toContain("WRONG");
  expect(code).toBe(0);
});

test("npm run doctor advises on a pending migration, a table open to the server and a broken schema rule", async () => {
  const { pool } = database;
  await pool.query(
    "delete from schema_migrations where name = (select max(name) from schema_migrations)",
  );
  await pool.query("comment on schema backoffice is 'another'");
  await pool.query("grant select on users to office_server");
  const { code, output } = await runCommand("src/commands/doctor.ts", [], env());
  expect(output).toMatch(/^WRONG +pending migrations: \d{4}_\w+\n +-> Run `npm run db:migrate`$/m);
  expect(output).toMatch(/^WRONG +office_server may read users directly\n +-> Revoke the grant/m);
  expect(output).toMatch(/^WRONG +.*users.*office_server holds SELECT/m);
  expect(code).toBe(1);
});

test("npm run doctor names what production requires, misspelt settings, and logins with too many rights", async () => {
  const settings = { ...env(), NODE_ENV: "production", LOGLEVEL: "debug" };
  const { code, output } = await runCommand("src/commands/doctor.ts", [], settings);
  expect(output).toMatch(
    /^WRONG +a server does not start: .*OIDC_PROVIDERS is required in production.*\n +-> Set them$/m,
  );
  expect(output).toMatch(/^WRONG +a worker does not start: .*SMTP_URL is required in production/m);
  expect(output).toMatch(/^WARNING LOGLEVEL is not a setting\n +-> .*did you mean LOG_LEVEL\?$/m);
  expect(output).toMatch(/^WRONG +DATABASE_URL: its login is a superuser\n/m);
  expect(output).toMatch(/^WARNING there is no user: whoever reaches a server first/m);
  expect(code).toBe(1);
  // A worker's machine.
  const worker = await runCommand("src/commands/doctor.ts", [], {
    ...settings,
    ...workerSettings,
  });
  expect(worker.output).toMatch(
    /^WARNING a server does not start: .*\n +-> Set them, or ignore this on a machine without a server$/m,
  );
  expect(worker.output).not.toContain("a worker does not start");
});

test("npm run doctor reports a DateStyle in which dates are no ISO 8601", async () => {
  const name = new URL(database.url).pathname.slice(1);
  await database.pool.query(`alter database "${name}" set datestyle = 'German'`);
  const { output } = await runCommand("src/commands/doctor.ts", [], env());
  await database.pool.query(`alter database "${name}" reset datestyle`);
  expect(output).toMatch(/^WRONG +DateStyle is German, .*\n +-> .*set datestyle = 'ISO'/m);
});

test("npm run doctor reports indexes built with another ICU version", async () => {
  await database.pool.query(
    "update pg_collation set collversion = '1' where collname = 'display_order'",
  );
  const { output } = await runCommand("src/commands/doctor.ts", [], env());
  expect(output).toMatch(
    /^WRONG +the indexes of names were built with another version of ICU\n +-> Run `reindex database`/m,
  );
});

test("npm run doctor reports a failing login without its password", async () => {
  const address = new URL(database.url);
  address.pathname = "/no_such_database";
  address.password = "letmein";
  const { code, output } = await runCommand("src/commands/doctor.ts", [], {
    DATABASE_URL: address.href,
  });
  expect(output).toMatch(/^WRONG +DATABASE_URL: /m);
  expect(output).not.toContain("letmein");
  expect(code).toBe(1);
});

test.each([
  ["jobs", ["list", "--taks", "x"], "There is no option --taks (did you mean `--task`?)"],
  ["jobs", ["retry"], "retry takes either --id or --task"],
  ["jobs", ["retry", "--task", "a", "--task", "b"], "--task is given twice"],
  ["jobs", ["retry", "--id", ""], "--id is empty"],
  ["jobs", ["retry", "--id"], "Option '--id <value>' argument missing"],
  ["jobs", ["retry", "--id", "1; drop"], "--id 1; drop is not a number"],
  [
    "verifyAudit",
    ["--head", "abc"],
    "--head abc is not a head: it has 64 of the digits 0-9 and a-f",
  ],
  ["doctor", ["--fix"], "There is no option --fix"],
  ["backup", [], "Name one folder"],
  ["restore", ["a", "b"], "Name one folder"],
  ["searchIndex", ["rebuilt"], "Choose rebuild or verify"],
  ["rotateKeys", ["search", "--finish"], "Search keys end by themselves: there is no --finish"],
])("the command %s %j is refused with its usage", async (name, args, problem) => {
  const { code, output } = await runCommand(`src/commands/${name}.ts`, args, env());
  expect(output.split("\n")[0]).toBe(problem);
  expect(output.split("\n")[1]).toMatch(/^Usage: npm run /);
  expect(code).toBe(2);
});

test("a command shows its usage with --help", async () => {
  expect(await runCommand("src/commands/jobs.ts", ["retry", "--help"], {})).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^Usage: npm run jobs -- list /),
  });
});

test("commands say in one sentence that the database has not been migrated", async () => {
  const empty = await createDatabase();
  try {
    await empty.pool.query("drop schema backoffice, graphile_worker, office_jobs cascade");
    for (const [script, ...args] of [["jobs", "list"], ["identities", "list"], ["verifyAudit"]]) {
      const { code, output } = await runCommand(`src/commands/${script}.ts`, args, {
        DATABASE_URL: empty.url,
      });
      expect(output).toMatch(
        /^The database is not of this release: .*\nRun `npm run db:migrate`\n$/,
      );
      expect(code).toBe(2);
    }
  } finally {
    await empty.drop();
  }
});

test("npm run jobs lists failed jobs and retries them by id or task", async () => {
  const { pool } = database;
  await pool.query(
    `select office_jobs.add(task, jsonb_build_object('tenant', 'backoffice', 'input', '{}'::jsonb, 'correlationId', 'c-' || task))
     from unnest(array['settle_jobs', 'remove_files', 'clean_exports']) as task`,
  );
  await pool.query(
    "update graphile_worker._private_jobs set attempts = max_attempts, last_error = 'It broke' where payload ->> 'correlationId' <> 'c-clean_exports'",
  );
  const jobs = (...args: string[]) => runCommand("src/commands/jobs.ts", args, env());
  const listed = (await jobs("list")).output;
  expect(listed).toMatch(/^\d+ {2}settle_jobs {2}backoffice .* c-settle_jobs {2}It broke$/m);
  expect(listed).toContain("2 failed jobs");
  const id = /^(\d+) {2}settle_jobs/m.exec(listed)![1]!;
  expect((await jobs("retry", "--id", id)).output).toBe(`${id}  settle_jobs  will be retried\n`);
  expect((await jobs("retry", "--id", id)).code).toBe(1);
  expect((await jobs("retry", "--task", "remove_files")).code).toBe(0);
  const { rows } = await pool.query(
    "select attempts from graphile_worker._private_jobs where payload ->> 'correlationId' in ('c-settle_jobs', 'c-remove_files')",
  );
  expect(rows).toEqual([{ attempts: 0 }, { attempts: 0 }]);
});
