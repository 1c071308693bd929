import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { makeToken } from "../../src/auth/tokens.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { expectNoSecrets, expectNoSecretsIn } from "../helpers/secrets.ts";

// Tests the scan for secrets that runs on the logs and database of each test file.

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test.each([
  ["a session's token", makeToken("session")],
  ["an API token", makeToken("api")],
  ["a login code", `bol_${"x".repeat(43)}`],
  ["a signed link", `https://files.example/a?X-Amz-Signature=${"0f".repeat(32)}&x=1`],
])("%s in a log is found, and the report omits it", (_, secret) => {
  const read = () => expectNoSecrets("the log", `{"level":"info","msg":"${secret}"}`);
  expect(read).toThrow("the log holds a secret");
  expect(read).not.toThrow(secret);
});

test("text with a wrong checksum is no token", () => {
  expect(() => expectNoSecrets("the log", `bos_${"x".repeat(51)}`)).not.toThrow();
});

test.each(["audit_log", "graphile_worker._private_jobs"])(
  "a token in a row of %s is found",
  async (table) => {
    const client = await database.pool.connect();
    const plant: Record<string, string> = {
      audit_log: `insert into audit_log (entity_type, operation, metadata) values ('Product', 'UPDATE', jsonb_build_object('note', $1::text))`,
      "graphile_worker._private_jobs": `select office_jobs.add('test_note', jsonb_build_object('tenant', 'backoffice', 'input', $1::text))`,
    };
    try {
      await client.query("begin");
      await client.query("set local session_replication_role = replica");
      await client.query(plant[table] ?? "", [makeToken("api")]);
      await expect(expectNoSecretsIn(client)).rejects.toThrow(`${table} holds a secret`);
    } finally {
      await client.query("rollback");
      client.release();
    }
    await expect(expectNoSecretsIn(database.pool)).resolves.toBeUndefined();
  },
);
