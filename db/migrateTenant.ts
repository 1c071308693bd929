import { setTimeout } from "node:timers/promises";
import type pg from "pg";
import { migrationLock } from "../src/postgres/lockSchema.ts";
import { tenantPattern } from "../src/tenants/tenants.ts";
import { BusyError } from "./refusals.ts";
import { isBusy, runSources } from "./runSources.ts";
import { type Sources, readSources } from "./sources.ts";

type Log = (line: string) => void;

/**
 * How long a migration waits for a table in use. Whoever asks for the table meanwhile stands behind it: this must stay well
 * below the time that a request may take.
 */
const lockTimeoutMs = 3_000;

/** What {@link migrateTenant} works with beside the product's own files. */
export interface MigrateOptions {
  log?: Log;
  /** A folder whose `migrations` and `logic` follow the product's. */
  extraSqlDir?: string;
  /** Leaves out what is for development only, such as the function that logs in without a password. */
  production?: boolean;
  /** Looks at the tenant as it has become; what it throws undoes everything. */
  check?: (client: pg.ClientBase, tenant: string) => Promise<void>;
  /** Leaves nothing behind in the end, as if a check had failed. */
  rehearse?: boolean;
  /** How often it tries where tables are in use. */
  attempts?: number;
}

/**
 * Brings one tenant, a schema with all of the application's tables, to the present state in one transaction: migrations that are
 * new, then logic, then reference data, then the rules of the house. Any failure leaves the tenant as it was.
 * The client must be able to act as `office_owner`. Tenants can be made side by side; calls for the same one queue.
 * @throws RuleViolationError when a table, function, policy or grant breaks a rule.
 * @throws BusyError when others held the tables for too long, several times.
 */
export async function migrateTenant(
  client: pg.ClientBase,
  tenant: string,
  options: MigrateOptions = {},
): Promise<void> {
  if (!tenantPattern.test(tenant)) throw new Error(`"${tenant}" cannot be the name of a schema`);
  const { log = () => {}, attempts = 5 } = options;
  const sources = await readSources(options.extraSqlDir);
  for (let attempt = 1; ; attempt++)
    try {
      await migrateOnce(client, tenant, sources, options);
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (attempt === attempts)
        throw new BusyError(
          `Tables that the migrations change were in use at each of ${attempts} attempts, nothing was changed: try again when there is less to do`,
          { cause: error },
        );
      log("Tables that the migrations change are in use: trying again");
      await setTimeout(attempt * 500);
    }
}

async function migrateOnce(
  client: pg.ClientBase,
  tenant: string,
  sources: Sources,
  { log = () => {}, check, rehearse = false, production = false }: MigrateOptions,
): Promise<void> {
  await client.query("begin");
  try {
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
      migrationLock(tenant),
    ]);
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
    await client.query("set local role office_owner");
    // The rehearsal checks all bodies when it has all functions, so that it names everything at once.
    if (rehearse) await client.query("set local check_function_bodies = off");
    await runSources(client, tenant, sources, log);
    // The server does not offer it there either; what is not there cannot be reached in another way.
    if (production)
      await client.query("drop function if exists dev_login(text, bytea, integer, integer)");
    await check?.(client, tenant);
    await client.query(rehearse ? "rollback" : "commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    await client.query("reset role; reset search_path");
  }
}
