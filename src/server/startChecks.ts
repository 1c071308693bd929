import { setTimeout } from "node:timers/promises";
import type { Pool } from "pg";
import type { Logger } from "pino";
import { type Config, ConfigError } from "../config.ts";
import { requireSupportedVersion } from "../postgres/pools.ts";
import { isDatabaseError, isOutage } from "../errors/databaseErrors.ts";
import { lockSchema } from "../postgres/lockSchema.ts";
import { exposureWarning } from "../settings/server.ts";

/** How long a starting server waits for a database that is not up yet, in milliseconds. */
const patienceMs = 60_000;

/** Where a starting server looks, and where it says what it found. */
interface Place {
  /** Acts as `office_server`. */
  pool: Pool;
  tenant: string;
  log: Logger;
}

/**
 * Waits for the database and for a migration that runs, and keeps others from beginning until what it returns is called:
 * what the server learns of the schema is of one moment. Nothing is served from one that breaks a rule of the house, such
 * as a table without row-level security.
 * @throws ConfigError when the schema is not of this release or breaks a rule
 * @throws DatabaseVersionError
 */
export async function lockValidSchema(
  address: string,
  { pool, tenant, log }: Place,
): Promise<() => Promise<void>> {
  const started = Date.now();
  for (;;) {
    let end: (() => Promise<void>) | undefined;
    try {
      await requireSupportedVersion(address);
      end = await lockSchema(address, tenant, () => log.info("waiting for a migration"));
      const { rows } = await pool.query<{ violation: string }>(
        `select v as violation from "${tenant}".schema_violations() as v`,
      );
      if (rows.length === 0) return end;
      throw new ConfigError(rows.map((row) => row.violation));
    } catch (error) {
      await end?.();
      if (isDatabaseError(error) && ["3F000", "42883"].includes(error.code ?? ""))
        throw new ConfigError([
          `The database has no schema "${tenant}" of this release: run \`npm run db:migrate\` first`,
        ]);
      if (!isOutage(error) || Date.now() - started > patienceMs) throw error;
      log.warn("waiting for the database");
      await setTimeout(250);
    }
  }
}

/** Says loudly what lets people in without a password where that may not be meant. */
export async function warnOfInsecureSettings(
  config: Pick<Config, "host" | "production">,
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
}
