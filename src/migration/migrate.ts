import { ConfigError, readConfig } from "../config.ts";
import { DatabaseVersionError, openClient } from "../postgres/pools.ts";
import { isOutage, outageText } from "../errors/databaseErrors.ts";
import { environmentOfCommand } from "../settings/runningService.ts";
import { checkHistory } from "./history.ts";
import { refuseLeftFunctions } from "./leftFunctions.ts";
import { type MigrateOptions, migrateTenant } from "./migrateTenant.ts";
import { defaultResponseTimeoutMs, ensureLogins, prepareDatabase } from "./prepare.ts";
import { Refusal } from "./refusals.ts";
import { readSources, stampOf } from "./sources.ts";

type Log = (line: string) => void;

const allowBreakingFlag = "--allow-breaking";
const callerRestartsFlag = "--caller-restarts";

const restartHint =
  "Running servers and workers read the schema only at their start: restart them one after the other";

/**
 * Prepares the database and migrates one tenant, with an administrator's or owner's address. Rejects a schema that a
 * server could not serve.
 * @returns whether an existing schema was changed, which running servers do not notice
 * @throws Refusal when the files cannot be applied or no API can be built from them
 */
export async function migrate(
  options: {
    ownerUrl: string;
    tenant: string;
    /** Database response timeout in milliseconds. */
    responseTimeoutMs?: number;
    extraSqlDir?: string;
    production?: boolean;
    loginUrls?: (string | undefined)[];
    /** Whether breaking API changes are allowed. */
    allowBreaking?: boolean;
  },
  log: Log,
): Promise<boolean> {
  const {
    ownerUrl,
    tenant,
    responseTimeoutMs = defaultResponseTimeoutMs,
    extraSqlDir,
    production,
  } = options;
  const sources = await readSources(extraSqlDir);
  const client = await openClient(ownerUrl, responseTimeoutMs);
  client.on("notice", ({ severity, message }) => {
    if (severity === "WARNING") log(`WARNING: ${message}`);
  });
  try {
    const { rows } = await client.query<{ made: boolean; stamp: string | null }>(
      `select to_regnamespace($1) is not null as made, ${stampOf("$1")} as stamp`,
      [tenant],
    );
    // Imported on demand, because it loads all server modules and PostgreSQL's parser.
    const isChange = rows[0]?.made === true && rows[0].stamp !== sources.stamp;
    let check: MigrateOptions["check"];
    if (isChange) {
      // Files of another release change neither the queue nor the logins, which are outside the transaction below.
      await checkHistory(client, tenant, sources);
      const { lintLogic, lintPending } = await import("./lintPending.ts");
      lintLogic(sources);
      await lintPending(client, tenant, sources, log);
    }
    await prepareDatabase(ownerUrl, { log, responseTimeoutMs, own: sources.prepare });
    if (isChange) {
      const { rehearse } = await import("./rehearse.ts");
      const allowBreaking = options.allowBreaking ?? false;
      const declared = await rehearse(client, { tenant, sources, extraSqlDir, allowBreaking, log });
      check = (within) => refuseLeftFunctions(within, declared);
    }
    // The product's own files are tested; with extra files, a new schema is checked before it is committed.
    if (rows[0]?.made === false && extraSqlDir !== undefined) {
      const { lintLogic } = await import("./lintPending.ts");
      lintLogic(sources);
      const { checkNewTenant } = await import("./rehearse.ts");
      check = (within, made) => checkNewTenant(within, made, sources);
    }
    await migrateTenant(client, tenant, {
      log,
      extraSqlDir,
      production,
      ...(check && { check }),
    });
    await ensureLogins(client, options.loginUrls ?? [], log);
    return isChange;
  } finally {
    await client.end();
  }
}

/**
 * The migrate command: migrates the database of the environment and logs its steps and errors.
 * @param args `--allow-breaking` allows breaking API changes; `--caller-restarts` omits the advice to restart servers
 * @returns the exit code
 */
export async function runMigrateCommand(
  environment: NodeJS.ProcessEnv,
  say: { log: Log; error: (what: unknown) => void },
  args: readonly string[] = [],
): Promise<number> {
  try {
    const { allowBreaking, callerRestarts } = readFlags(args);
    const config = readConfig(environment);
    if (!config.database.ownerUrl)
      throw new ConfigError([
        "DATABASE_OWNER_URL or DATABASE_URL must say which database to migrate, or npm start must run with the same DATA_DIR",
      ]);
    const isChange = await migrate(
      {
        ownerUrl: config.database.ownerUrl,
        tenant: config.database.schema ?? "backoffice",
        responseTimeoutMs: config.database.maintenanceTimeoutMs,
        extraSqlDir: config.database.extraSqlDir,
        production: config.production,
        loginUrls: [config.database.url, config.database.workerUrl],
        allowBreaking,
      },
      say.log,
    );
    if (isChange && !callerRestarts) say.log(restartHint);
    return 0;
  } catch (error) {
    const known =
      error instanceof ConfigError ||
      error instanceof Refusal ||
      error instanceof DatabaseVersionError;
    const away = isOutage(error) ? outageText("The database of the owner's address", error) : error;
    say.error(known ? error.message : away);
    return 1;
  }
}

/** @throws ConfigError for an unknown flag */
function readFlags(args: readonly string[]) {
  const known = [allowBreakingFlag, callerRestartsFlag];
  const unknown = args.find((arg) => !known.includes(arg));
  if (unknown !== undefined)
    throw new ConfigError([
      `The migrate command has no option "${unknown}", only ${known.join(" and ")}`,
    ]);
  return {
    allowBreaking: args.includes(allowBreakingFlag),
    callerRestarts: args.includes(callerRestartsFlag),
  };
}

if (import.meta.main) {
  process.env.GRAPHILE_ENV ??= "production";
  const environment = environmentOfCommand(process.env);
  process.exitCode = await runMigrateCommand(environment, console, process.argv.slice(2));
}
