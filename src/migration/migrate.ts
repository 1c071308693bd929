import { ConfigError, readConfig } from "../config.ts";
import { DatabaseVersionError, openClient } from "../postgres/pools.ts";
import { failureText } from "../errors/failureText.ts";
import { UsageError, readCommandLine } from "../process/commandLine.ts";
import { environmentOfCommand } from "../settings/runningService.ts";
import { checkHistory, marksOfNewerRelease } from "./history.ts";
import { refuseLeftFunctions } from "./leftFunctions.ts";
import { type MigrateOptions, migrateTenant } from "./migrateTenant.ts";
import { defaultResponseTimeoutMs, ensureLogins, prepareDatabase } from "./prepare.ts";
import { Refusal } from "./refusals.ts";
import { readSchemaState, readSources, restoringText } from "./sources.ts";

type Log = (line: string) => void;

const command = {
  usage: `Usage: npm run db:migrate -- [--check] [--allow-breaking] [--accept-newer] [--caller-restarts]
  --check             check the files and try them in an empty schema, and change nothing
  --allow-breaking    accept that the API loses what callers use
  --accept-newer      leave a database as it is that a newer release has migrated: for rolling back
  --caller-restarts   omit the advice to restart servers and workers: for scripts that restart them`,
  options: {
    check: { type: "boolean", default: false },
    "allow-breaking": { type: "boolean", default: false },
    "accept-newer": { type: "boolean", default: false },
    "caller-restarts": { type: "boolean", default: false },
  },
} as const;

const restartHint =
  "Running servers and workers read the schema only at their start: restart them one after the other";

const upToDate = "The database has all changes of these files: there is nothing to check";

const checked =
  "The files can be applied; nothing was changed. Whether the rows of the tables fit is checked when they are";

const noSchema = (tenant: string) =>
  `The database has no schema "${tenant}" with which to compare: npm run db:migrate makes it, or says why not`;

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
    /** Only checks the files and tries them in an empty schema. */
    checkOnly?: boolean;
    /** Whether breaking API changes are allowed. */
    allowBreaking?: boolean;
    /** Whether a schema that a newer release has migrated is left as it is, rather than refused. */
    acceptNewer?: boolean;
  },
  log: Log,
): Promise<boolean> {
  const {
    ownerUrl,
    tenant,
    responseTimeoutMs = defaultResponseTimeoutMs,
    extraSqlDir,
    production,
    checkOnly = false,
    allowBreaking = false,
  } = options;
  const sources = await readSources(extraSqlDir);
  const client = await openClient(ownerUrl, responseTimeoutMs);
  client.on("notice", ({ severity, message }) => {
    if (severity === "WARNING") log(`WARNING: ${message}`);
  });
  try {
    const state = await readSchemaState(client, tenant);
    if (state.isRestoring) throw new Refusal(restoringText(tenant));
    // Imported on demand, because it loads all server modules and PostgreSQL's parser.
    const isChange = state.made && state.stamp !== sources.stamp;
    let check: MigrateOptions["check"];
    // Shown by the rehearsal, when they can still be heeded.
    const warnings = new Set<string>();
    if (isChange && options.acceptNewer) {
      const newer = await marksOfNewerRelease(client, tenant, sources);
      if (newer.length > 0) {
        await ensureLogins(client, options.loginUrls ?? [], log);
        log(`A newer release has migrated this database (${newer.join(", ")}): it stays as it is`);
        return false;
      }
    }
    if (isChange) {
      // Files of another release change neither the queue nor the logins, which are outside the transaction below.
      await checkHistory(client, tenant, sources);
      const { lintSources } = await import("./lintPending.ts");
      await lintSources(client, tenant, sources, log);
    }
    if (checkOnly && !isChange) {
      if (!state.made) throw new Refusal(noSchema(tenant));
      log(upToDate);
      return false;
    }
    if (!checkOnly)
      await prepareDatabase(ownerUrl, { log, responseTimeoutMs, own: sources.prepare });
    if (isChange) {
      const { rehearse } = await import("./rehearse.ts");
      const declared = await rehearse(client, {
        ...{ tenant, sources, extraSqlDir, allowBreaking },
        log(line) {
          if (line.startsWith("WARNING: ")) warnings.add(line);
          log(line);
        },
      });
      check = (within) => refuseLeftFunctions(within, declared);
    }
    if (checkOnly) {
      log(checked);
      return false;
    }
    // The product's own files are tested; with extra files, a new schema is checked before it is committed.
    if (!state.made && extraSqlDir !== undefined) {
      const { lintLogic } = await import("./lintPending.ts");
      lintLogic(sources);
      const { checkNewTenant } = await import("./rehearse.ts");
      check = (within, made) => checkNewTenant(within, made, sources);
    }
    await migrateTenant(client, tenant, {
      log: (line) => (warnings.has(line) ? undefined : log(line)),
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
 * @returns the exit code: 1 when the migration was refused or the database is too old, 2 when it could not begin
 */
export async function runMigrateCommand(
  environment: NodeJS.ProcessEnv,
  say: { log: Log; error: (text: string) => void },
  args: readonly string[] = [],
): Promise<number> {
  try {
    const given = readCommandLine(command, args);
    if (given === null) {
      say.log(command.usage);
      return 0;
    }
    if (given.positionals.length > 0)
      throw new UsageError(`${given.positionals.join(" ")}: it takes options only`, command.usage);
    const { values: flags } = given;
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
        checkOnly: flags.check,
        allowBreaking: flags["allow-breaking"],
        acceptNewer: flags["accept-newer"],
      },
      say.log,
    );
    if (isChange && !flags["caller-restarts"]) say.log(restartHint);
    return 0;
  } catch (error) {
    say.error(failureText(error));
    return error instanceof Refusal || error instanceof DatabaseVersionError ? 1 : 2;
  }
}

if (import.meta.main) {
  process.env.GRAPHILE_ENV ??= "production";
  const environment = environmentOfCommand(process.env);
  const say = { log: console.log, error: console.error };
  process.exitCode = await runMigrateCommand(environment, say, process.argv.slice(2));
}
