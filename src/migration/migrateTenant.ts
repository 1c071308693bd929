import { setTimeout } from "node:timers/promises";
import type pg from "pg";
import { migrationLock } from "../postgres/lockSchema.ts";
import { tenantPattern } from "../tenants/tenants.ts";
import { BusyError } from "./refusals.ts";
import { LockedFailure, UnexplainedFailure, runSources, writeSchemaComment } from "./runSources.ts";
import { type Sources, type SqlFile, readSources } from "./sources.ts";

type Log = (line: string) => void;

/**
 * How long a migration waits for a table lock. Later requests queue behind it, so this must stay well below the request
 * timeout.
 */
const lockTimeoutMs = 3_000;

/** Options of {@link migrateTenant}. */
export interface MigrateOptions {
  log?: Log;
  /** A folder whose `migrations` and `logic` follow the product's. */
  extraSqlDir?: string;
  /** Omits development-only functions, such as login without a password. */
  production?: boolean;
  /** Checks the migrated tenant; an exception rolls everything back. */
  check?: (client: pg.ClientBase, tenant: string) => Promise<void>;
  /** Rolls back at the end. */
  rehearse?: boolean;
  /** Number of attempts when tables are locked. */
  attempts?: number;
}

/**
 * Migrates one tenant schema in one transaction: new migrations, logic, reference data, then the schema rules. Any
 * failure rolls back. The client must be able to act as `office_owner`. Different tenants can be migrated concurrently;
 * calls for the same one queue.
 * @throws RuleViolationError when a table, function, policy or grant violates a rule.
 * @throws BusyError when tables stayed locked in all attempts.
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
      // Runs again with a savepoint before the file, to find the line and the fix.
      if (error instanceof UnexplainedFailure) {
        await migrateOnce(client, tenant, sources, { ...options, explained: error.file });
        return;
      }
      if (!(error instanceof LockedFailure)) throw error;
      if (attempt === attempts)
        throw new BusyError(
          `Tables that the migrations change were in use at each of ${attempts} attempts, nothing was changed; the last one waited in ${error.message}. Try again when there is less to do`,
          { cause: error },
        );
      log(`Tables in use, waited for in ${error.message}: trying again`);
      await setTimeout(attempt * 500);
    }
}

async function migrateOnce(
  client: pg.ClientBase,
  tenant: string,
  sources: Sources,
  options: MigrateOptions & { explained?: SqlFile },
): Promise<void> {
  const { log = () => {}, check, rehearse = false, production = false, explained } = options;
  await client.query("begin");
  try {
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
      migrationLock(tenant),
    ]);
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
    await client.query("set local role office_owner");
    // The rehearsal checks all function bodies at the end, to report all errors together.
    if (rehearse) {
      await client.query("set local check_function_bodies = off");
      // Of a former rehearsal that was committed, as by a `commit` in a file.
      await client.query(`drop schema if exists "${tenant}" cascade`);
    }
    await runSources(client, tenant, sources, { log, explained });
    // The server does not offer it in production; dropping it leaves no other way to call it.
    if (production)
      await client.query("drop function if exists dev_login(text, bytea, integer, integer)");
    await check?.(client, tenant);
    if (!rehearse) await writeSchemaComment(client, tenant, sources);
    await client.query(rehearse ? "rollback" : "commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    await client.query("reset role; reset search_path");
  }
}
