import { stat } from "node:fs/promises";
import pg from "pg";
import { marksOfNewerRelease } from "../migration/history.ts";
import { readSchemaState, readSources } from "../migration/sources.ts";
import { type Config, missingSettings } from "../config.ts";
import { connectionAdvice, messageOf } from "../errors/databaseErrors.ts";
import { excessOfLogin } from "../postgres/loginRights.ts";
import { roleOfLogin } from "../postgres/logins.ts";
import { DatabaseVersionError, poolFor, requireSupportedVersion } from "../postgres/pools.ts";
import { UsageError } from "../process/commandLine.ts";
import { lagOf } from "../postgres/replicaLag.ts";
import { type Finding, ok, warning, wrong } from "./finding.ts";
import { checkExternalSystems } from "./checkExternalSystems.ts";
import { runCommand } from "./runCommand.ts";
import { exposureWarning } from "../settings/server.ts";

// `npm run doctor`: checks what the service needs and advises. Exits with 1 when a finding keeps the service from
// working.

const marks = { ok: "ok     ", warning: "WARNING", wrong: "WRONG  " };
/** Time-out of each statement, in milliseconds. */
const statementTimeoutMs = 60_000;
/** A larger difference between the clocks affects tokens and the sealing of the audit log, in milliseconds. */
const clockToleranceMs = 2_000;

const command = { usage: "Usage: npm run doctor", options: {} };

await runCommand(command, async (config, { positionals }) => {
  if (positionals.length > 0)
    throw new UsageError(`${positionals.join(" ")}: it takes no argument`, command.usage);
  // `runCommand` reports unreadable settings.
  const findings = [
    configuration(config),
    ...unknownSettings(config),
    ...requirements(config),
    runtime(),
    await dataFolder(config),
    ...(await database(config)),
    ...(await replica(config)),
    ...(await checkExternalSystems(config)),
  ];
  for (const { state, what, advice } of findings) {
    console.log(`${marks[state]} ${what}`);
    if (advice !== undefined) console.log(`        -> ${advice}`);
  }
  return findings.some(({ state }) => state === "wrong") ? 1 : 0;
});

function configuration(config: Config): Finding {
  const what = `configuration (${config.production ? "production" : "development"})`;
  const exposed = exposureWarning(config);
  return exposed === null ? ok(what) : warning(what, exposed);
}

function unknownSettings(config: Config): Finding[] {
  return config.unknownSettings.map(({ name, nearest }) =>
    warning(
      `${name} is not a setting`,
      `Remove it, if it is not meant for other software${nearest === null ? "" : `: did you mean ${nearest}?`}`,
    ),
  );
}

/** What a server or a worker in production requires: a machine can have the settings of one of them. */
function requirements(config: Config): Finding[] {
  const refusals = (["server", "worker"] as const).flatMap((role) => {
    const missing = missingSettings(config, role);
    return missing.length === 0 ? [] : [{ role, missing }];
  });
  const isNone = refusals.length === 2;
  return refusals.map(({ role, missing }) =>
    (isNone ? wrong : warning)(
      `a ${role} does not start: ${missing.join("; ")}`,
      isNone ? "Set them" : `Set them, or ignore this on a machine without a ${role}`,
    ),
  );
}

function runtime(): Finding {
  const { node } = process.versions;
  return Number(node.split(".")[0]) >= 24
    ? ok(`Node ${node}`)
    : wrong(`Node ${node} is too old`, "Run it by npm, which finds the Node 24 of node_modules");
}

async function dataFolder({ production, dataDir }: Config): Promise<Finding> {
  if (production) return ok("no data folder is needed");
  const folder = await stat(dataDir).catch(() => null);
  if (folder && !folder.isDirectory())
    return wrong(`DATA_DIR ${dataDir} is not a folder`, "Choose another one");
  return ok(
    folder ? `data folder ${dataDir}` : `data folder ${dataDir}, which the first start creates`,
  );
}

async function database(config: Config): Promise<Finding[]> {
  const { url, workerUrl, ownerUrl } = config.database;
  if (url === undefined)
    return [
      warning(
        "no DATABASE_URL: `npm start` starts an embedded PostgreSQL",
        "Set DATABASE_URL to check another database",
      ),
    ];
  const roles = [
    { setting: "DATABASE_URL", role: "office_server", address: url },
    { setting: "DATABASE_WORKER_URL", role: "office_worker", address: workerUrl ?? url },
    { setting: "DATABASE_OWNER_URL", role: "office_owner", address: ownerUrl ?? url },
  ];
  const findings: Finding[] = [];
  let looked = false;
  for (const { setting, role, address } of roles) {
    const own = roleOfLogin(decodeURIComponent(new URL(address).username));
    if (own !== null && own !== role) {
      findings.push(ok(`${setting}: not set for ${role} here, where only ${own} logs in`));
      continue;
    }
    const pool = poolFor(address, role, 1, timeoutOf(config));
    try {
      await requireSupportedVersion(address);
      const client = await pool.connect();
      try {
        findings.push(ok(`${setting}: logs in and acts as ${role}`));
        if (!looked) findings.push(...(await server(client)));
        looked = true;
        if (role === "office_owner") findings.push(...(await schema(client, config)));
        if (role === "office_server") findings.push(await unexpectedRights(client, config));
        if (config.production && role !== "office_owner")
          findings.push(...(await loginRights(client, setting)));
      } finally {
        client.release(true);
      }
    } catch (error) {
      // An old database has no roles and no schema: further checks would say nothing.
      if (error instanceof DatabaseVersionError)
        return [...findings, wrong(`${setting}: ${error.message}`, "Use a newer PostgreSQL")];
      const needed = role === "office_owner" ? warning : wrong;
      findings.push(needed(`${setting}: ${messageOf(error)}`, connectionAdvice(error, role)));
    } finally {
      await pool.end();
    }
  }
  return findings;
}

function timeoutOf({ database: { maintenanceTimeoutMs } }: Config) {
  return {
    connectionTimeoutMillis: 5_000,
    responseTimeoutMs: Math.min(statementTimeoutMs, maintenanceTimeoutMs),
  };
}

/** Whether reads can use the replica, and its lag. */
async function replica(config: Config): Promise<Finding[]> {
  const { database: named } = config;
  if (named.url === undefined || named.replica === null) return [];
  const primary = poolFor(named.url, "office_server", 1, timeoutOf(config));
  const standby = poolFor(named.replica.url, "office_server", 1, timeoutOf(config));
  const setting = "DATABASE_REPLICA_URL";
  try {
    const { bytes, seconds } = await lagOf(primary, standby, named.schema);
    const { rows } = await standby.query<{ feedback: boolean }>(
      "select current_setting('hot_standby_feedback')::boolean as feedback",
    );
    return [
      seconds < 1
        ? ok(`${setting}: is a replica of DATABASE_URL, ${bytes} bytes behind`)
        : warning(
            `${setting}: is a replica of DATABASE_URL, ${Math.round(seconds)} s behind`,
            "Reads use the primary until it has caught up: check whether it is paused, its disk and its network",
          ),
      rows[0]?.feedback
        ? ok(`${setting}: hot_standby_feedback is on`)
        : warning(
            `${setting}: hot_standby_feedback is off`,
            "Set hot_standby_feedback = on there: otherwise vacuum on the primary cancels long reads",
          ),
    ];
  } catch (error) {
    const { code } = error as { code?: string };
    return [
      wrong(
        `${setting}: ${messageOf(error)}`,
        code === "OFR01"
          ? "Use a hot standby of the database of DATABASE_URL"
          : connectionAdvice(error, "office_server"),
      ),
    ];
  } finally {
    await Promise.all([primary.end(), standby.end()]);
  }
}

async function server(client: pg.ClientBase): Promise<Finding[]> {
  const before = Date.now();
  const { rows } = await client.query<{
    version: string;
    clock: number;
    encoding: string;
    connections: number;
    extensions: string[];
    fsync: string;
    date_style: string;
    sorts_as_indexed: boolean;
  }>(`select current_setting('server_version') as version,
        extract(epoch from clock_timestamp())::float8 * 1000 as clock, current_setting('server_encoding') as encoding,
        current_setting('max_connections')::integer as connections, current_setting('fsync') as fsync,
        current_setting('datestyle') as date_style,
        array(select extname::text from pg_extension) as extensions,
        not exists (
          select from pg_collation where collname = 'display_order' and collversion is distinct from pg_collation_actual_version(oid)
        ) as sorts_as_indexed`);
  const found = rows[0];
  if (!found) return [];
  const halfway = (before + Date.now()) / 2;
  const apart = Math.round(found.clock - halfway);
  const missing = ["pg_trgm", "unaccent", "btree_gin", "btree_gist"].filter(
    (name) => !found.extensions.includes(name),
  );
  return [
    ok(`PostgreSQL ${found.version}, ${found.connections} connections`),
    found.encoding === "UTF8"
      ? ok("encoding UTF8")
      : wrong(`encoding ${found.encoding}`, "Create the database with the encoding UTF8"),
    missing.length === 0
      ? ok("extensions")
      : wrong(
          `no extension ${missing.join(", ")}`,
          "Run `npm run db:migrate` as an administrator, to create them",
        ),
    found.sorts_as_indexed
      ? ok("order of names")
      : wrong(
          "the indexes of names were built with another version of ICU",
          "Run `reindex database`, then `alter collation extensions.display_order refresh version`",
        ),
    Math.abs(apart) <= clockToleranceMs
      ? ok("clocks agree")
      : warning(`the database's clock is ${apart} ms from this machine's`, "Set both by NTP"),
    found.date_style.startsWith("ISO")
      ? ok("DateStyle ISO")
      : wrong(
          `DateStyle is ${found.date_style}: times of the database are not understood`,
          "Set it to ISO for the database: `alter database <name> set datestyle = 'ISO'`",
        ),
    found.fsync === "on"
      ? ok("commits are written to disk")
      : warning("fsync is off: a crash of the machine can lose or corrupt data", "Set fsync = on"),
  ];
}

/** Pending migrations and violations of the schema rules. */
async function schema(
  client: pg.ClientBase,
  { production, database: { schema: tenant, extraSqlDir } }: Config,
): Promise<Finding[]> {
  const state = await readSchemaState(client, tenant);
  const migrate = "Run `npm run db:migrate`";
  if (!state.made) return [wrong(`there is no schema "${tenant}"`, migrate)];
  if (state.isRestoring)
    return [
      wrong(
        `the schema "${tenant}" is being restored, or its restore was interrupted`,
        "Wait, or run `npm run db:restore` again",
      ),
    ];
  const sources = await readSources(extraSqlDir);
  await client.query(`set search_path = ${pg.escapeIdentifier(tenant)}, extensions, pg_temp`);
  const applied = await client.query<{ name: string }>("select name from schema_migrations");
  const names = new Set(applied.rows.map(({ name }) => name));
  const files =
    sources.migrations[0]?.files.map(({ path }) => /([^/\\]+)\.sql$/.exec(path)?.[1] ?? "") ?? [];
  const pending = files.filter((name) => !names.has(name));
  const newer = await marksOfNewerRelease(client, tenant, sources);
  const violations = await client.query<{ v: string }>(
    "select v from schema_violations() as v limit 5",
  );
  const users = await client.query<{ none: boolean }>("select awaits_first_user() as none");
  return [
    state.stamp === sources.stamp
      ? ok(`schema "${tenant}" is of this release`)
      : pending.length > 0
        ? wrong(`pending migrations: ${pending.join(", ")}`, migrate)
        : newer.length > 0
          ? warning(
              `a newer release has migrated the schema "${tenant}": ${newer.join(", ")}`,
              "Servers and workers of this release work with it; do not migrate with this release, except with --accept-newer",
            )
          : warning(
              `schema "${tenant}" was migrated by another release, or another DATABASE_EXTRA_SQL_DIR`,
              migrate,
            ),
    ...(violations.rows.length === 0
      ? [ok("every table and function follows the schema rules")]
      : violations.rows.map(({ v }) =>
          wrong(v, "The server does not start: fix it by a migration"),
        )),
    ...(production && users.rows[0]?.none
      ? [
          warning(
            "there is no user: whoever reaches a server first can become Superadmin",
            "Call `bootstrapFirstUser` before others reach it",
          ),
        ]
      : []),
  ];
}

/** Whether row-level security holds for the login, whichever role it acts as. */
async function loginRights(client: pg.ClientBase, setting: string): Promise<Finding[]> {
  const excess = await excessOfLogin(client);
  return excess === null
    ? []
    : [
        wrong(
          `${setting}: its login ${excess}`,
          "An error could read and change everything: use the login that `npm run db:migrate` creates",
        ),
      ];
}

/** With further rights, the server's login could bypass row-level security. */
async function unexpectedRights(
  client: pg.ClientBase,
  { database: { schema: tenant } }: Config,
): Promise<Finding> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p')
       and has_table_privilege('office_server', c.oid, 'select') limit 3`,
    [tenant],
  );
  return rows.length === 0
    ? ok("the server's login cannot read tables directly")
    : wrong(
        `office_server may read ${rows.map(({ name }) => name).join(", ")} directly`,
        "Revoke the grant: requests act as office_api",
      );
}
