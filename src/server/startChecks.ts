import { setTimeout } from "node:timers/promises";
import type { Pool } from "pg";
import type { Logger } from "pino";
import { type Config, ConfigError } from "../config.ts";
import { restoringComment, restoringText } from "../migration/sources.ts";
import { requireSupportedVersion } from "../postgres/pools.ts";
import { isDatabaseError, isOutage, isRefusedLogin } from "../errors/databaseErrors.ts";
import { lockSchema } from "../postgres/lockSchema.ts";
import { excessOfLogin } from "../postgres/loginRights.ts";
import { exposureWarning } from "../settings/server.ts";

/** How long a starting server waits for the database, in milliseconds. */
const maxWaitMs = 60_000;

/** The time between two log lines of such a server, in milliseconds. */
const waitLogMs = 5_000;

const missingSchemaText = (tenant: string) =>
  `The database has no schema "${tenant}" of this release: run \`npm run db:migrate\` first`;

/** The database to check, and the log. */
interface Place {
  /** Acts as `office_server`. */
  pool: Pool;
  tenant: string;
  log: Logger;
}

/**
 * Waits for the database and for a running migration, then locks out migrations until the returned function is called:
 * the server reads the schema at one moment. A schema that violates a rule, such as a table without row-level security,
 * is not served.
 * @throws ConfigError when the schema is of another release or violates a rule
 * @throws DatabaseVersionError
 */
export async function lockValidSchema(
  address: string,
  { pool, tenant, log }: Place,
): Promise<() => Promise<void>> {
  const started = Date.now();
  let loggedAt = 0;
  for (;;) {
    let end: (() => Promise<void>) | undefined;
    try {
      await requireSupportedVersion(address);
      end = await lockSchema(address, tenant, () => log.info("start waiting for migration"));
      // The check takes ten times as long as the comparison with the state that the migrate command checked.
      await refuseUnfinishedRestore(pool, tenant);
      const { rows } = await pool.query<{ violation: string }>(
        `select v as violation from (select where not "${tenant}".is_checked_schema()) as changed,
           lateral "${tenant}".schema_violations() as v`,
      );
      if (rows.length === 0) return end;
      throw new ConfigError(rows.map((row) => row.violation));
    } catch (error) {
      await end?.();
      if (isDatabaseError(error) && ["3F000", "42883"].includes(error.code ?? ""))
        throw new ConfigError([missingSchemaText(tenant)]);
      if (!isOutage(error) || isRefusedLogin(error) || Date.now() - started > maxWaitMs)
        throw error;
      if (Date.now() - loggedAt >= waitLogMs) {
        loggedAt = Date.now();
        log.warn({ reason: (error as Error).message }, "start waiting for database");
      }
      await setTimeout(250);
    }
  }
}

/**
 * What a worker requires before it takes jobs.
 * @throws ConfigError without this service's schema, or while `db:restore` fills it
 */
export async function requireSchema(pool: Pool, tenant: string): Promise<void> {
  const { rows } = await pool.query<{ isThere: boolean }>(
    `select to_regnamespace($1) is not null and to_regclass('office_jobs.workers') is not null as "isThere"`,
    [tenant],
  );
  if (!rows[0]?.isThere) throw new ConfigError([missingSchemaText(tenant)]);
  await refuseUnfinishedRestore(pool, tenant);
}

/**
 * A schema that `db:restore` fills has no rows yet, and looks like a new system.
 * @throws ConfigError
 */
export async function refuseUnfinishedRestore(pool: Pool, tenant: string): Promise<void> {
  const { rows } = await pool.query<{ text: string | null }>(
    "select obj_description(to_regnamespace($1), 'pg_namespace') as text",
    [tenant],
  );
  if (rows[0]?.text === restoringComment) throw new ConfigError([restoringText(tenant)]);
}

/** Warns about settings, logins and states with which people can do more than they should. */
export async function warnOfInsecureSettings(
  config: Pick<Config, "host" | "production" | "publicUrl">,
  { pool, tenant, log }: Place,
): Promise<void> {
  const exposed = exposureWarning(config);
  if (exposed !== null) log.warn(exposed);
  if (!config.production) return;
  const { rows } = await pool.query<{ open: boolean }>(
    "select to_regprocedure($1) is not null as open",
    [`"${tenant}".dev_login(text, bytea, integer, integer)`],
  );
  if (rows[0]?.open)
    log.warn(
      "The database was not migrated for production and still has the function dev_login: run `npm run db:migrate` with NODE_ENV=production",
    );
  const excess = await excessOfLogin(pool);
  if (excess !== null)
    log.warn(
      `The login of DATABASE_URL ${excess}: an error in a request could read and change everything. Use the login that \`npm run db:migrate\` creates`,
    );
  const { rows: users } = await pool.query<{ none: boolean }>(
    `select "${tenant}".awaits_first_user() as none`,
  );
  if (users[0]?.none)
    log.warn(
      "There is no user: whoever reaches this server first can become Superadmin. Call `bootstrapFirstUser` now",
    );
}
