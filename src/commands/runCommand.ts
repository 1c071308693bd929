import pg from "pg";
import { type Config, ConfigError, readConfig } from "../config.ts";
import { DatabaseVersionError, poolFor, requireSupportedVersion } from "../postgres/pools.ts";
import { environmentOfCommand } from "../settings/runningService.ts";
import { isOutage, outageText } from "../errors/databaseErrors.ts";

/** A failure whose message is printed without a stack. */
export class CommandError extends Error {
  override name = "CommandError";
}

/**
 * Runs a command of operators. Its result is the exit code: 0 for success, 1 for findings. A failure prints a message
 * and exits with 2, a database that is too old with 1.
 */
export async function runCommand(work: (config: Config) => Promise<number>): Promise<void> {
  try {
    process.exitCode = await work(readConfig(environmentOfCommand(process.env)));
  } catch (error) {
    const isOld = error instanceof DatabaseVersionError;
    const known = error instanceof ConfigError || error instanceof CommandError || isOld;
    console.error(
      known ? error.message : isOutage(error) ? outageText("The database", error) : error,
    );
    process.exitCode = isOld ? 1 : 2;
  }
}

/**
 * Runs `work` on a connection that acts as the owner of the tables, in the main schema.
 * @throws CommandError without an address of the database
 */
export async function asOwner<T>(
  { database }: Config,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  if (database.ownerUrl === undefined)
    throw new CommandError(
      "DATABASE_OWNER_URL or DATABASE_URL must be set, or npm start must run with the same DATA_DIR",
    );
  return withPool(database, database.ownerUrl, "office_owner", async (pool) => {
    const client = await pool.connect();
    try {
      await client.query(
        `set search_path = ${pg.escapeIdentifier(database.schema)}, extensions, pg_temp`,
      );
      return await work(client);
    } finally {
      client.release(true);
    }
  });
}

/** Runs `work` with a pool of one connection that acts as `role`. */
export async function withPool<T>(
  { maintenanceTimeoutMs }: Config["database"],
  url: string,
  role: string,
  work: (pool: pg.Pool) => Promise<T>,
): Promise<T> {
  await requireSupportedVersion(url);
  const pool = poolFor(url, role, 1, { responseTimeoutMs: maintenanceTimeoutMs });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
