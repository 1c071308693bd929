import { expect, test } from "@jest/globals";
import { createDatabase } from "../helpers/database.ts";
import { startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

test("a function that catches the statement timeout ends after its caller was answered", async () => {
  const database = await createDatabase();
  await database.pool.query(`
    set role office_owner;
    create function sleep_on() returns integer as $$
    begin
      loop
        begin
          perform pg_sleep(1);
        exception when query_canceled then
          perform pg_sleep(0.1);
        end;
      end loop;
    end;
    $$ language plpgsql stable;
    comment on function sleep_on is E'@guard login\\nNever ends.';
    revoke execute on function sleep_on from public;
    grant execute on function sleep_on to office_api;
    reset role`);
  const service = await startService({
    database,
    env: { DATABASE_STATEMENT_TIMEOUT_MS: "500" },
  });
  try {
    const { token } = await service.login([]);
    const { errors } = await service.ask("{ sleepOn }", { token });
    expect(errors?.[0]?.extensions.code).toBe("UNAVAILABLE");
    await waitFor("the function to end", async () => {
      const { rowCount } = await database.pool.query(
        `select from pg_stat_activity
         where datname = current_database() and state = 'active' and query like '%sleep_on%' and pid <> pg_backend_pid()`,
      );
      return rowCount === 0;
    });
  } finally {
    await service.stop();
    await database.drop();
  }
});
