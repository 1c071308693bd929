import type { ParseArgsOptionsConfig } from "node:util";
import pg from "pg";
import { type Config, readConfig } from "../config.ts";
import { OperatorError } from "../text/OperatorError.ts";
import { failureText } from "../errors/failureText.ts";
import { DatabaseVersionError, poolFor, requireSupportedVersion } from "../postgres/pools.ts";
import {
  type Arguments,
  type CommandLine,
  UsageError,
  readCommandLine,
} from "../process/commandLine.ts";
import { environmentOfCommand } from "../settings/runningService.ts";

/**
 * Runs a command of operators. Its result is the exit code: 0 for success, 1 for findings. A failure prints a message
 * and exits with 2, a database that is too old with 1.
 */
export async function runCommand<const Options extends ParseArgsOptionsConfig>(
  command: CommandLine<Options>,
  work: (config: Config, args: Arguments<Options>) => Promise<number>,
): Promise<void> {
  try {
    const args = readCommandLine(command, process.argv.slice(2));
    if (args === null) console.log(command.usage);
    else process.exitCode = await work(readConfig(environmentOfCommand(process.env)), args);
  } catch (error) {
    console.error(failureText(error));
    process.exitCode = error instanceof DatabaseVersionError ? 1 : 2;
  }
}

/** The one argument of a command that takes a folder. */
export function requireFolder(
  { usage }: CommandLine<ParseArgsOptionsConfig>,
  positionals: readonly string[],
): string {
  const [folder, ...others] = positionals;
  if (folder === undefined || others.length > 0) throw new UsageError("Name one folder", usage);
  return folder;
}

/**
 * Runs `work` on a connection that acts as the owner of the tables, in the main schema.
 * @throws OperatorError without an address of the database
 */
export async function asOwner<T>(
  { database }: Config,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  if (database.ownerUrl === undefined)
    throw new OperatorError(
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
