import { runner } from "node-pg-migrate";
import type pg from "pg";
import { release } from "../process/release.ts";
import type { DatabaseError } from "pg";
import { isDatabaseError } from "../errors/databaseErrors.ts";
import { lineAt, refusalOf } from "./failures/describe.ts";
import { checkHistory, storeChecksums } from "./history.ts";
import { shownPath } from "./fileNames.ts";
import { RuleViolationError } from "./refusals.ts";
import { brokenPolicies } from "./brokenPolicies.ts";
import { brokenViewTags } from "./viewTags.ts";
import { type Sources, type SqlFile, withLineFeeds } from "./sources.ts";

/** A file failed in a new schema, where it ran without a savepoint, which the explanation needs. */
export class UnexplainedFailure extends Error {
  readonly file: SqlFile;
  constructor(file: SqlFile, cause: DatabaseError) {
    super(`${file.path}: ${cause.message}`, { cause });
    this.file = file;
  }
}

/** A file or a function waited too long for a table in use, as the message says. The caller may try again. */
export class LockedFailure extends Error {
  constructor(place: string, cause: DatabaseError) {
    // The context of a function contains the statement that waited.
    const statement = /SQL statement "([^"]+)"/.exec(cause.where ?? "")?.[1];
    const shown = statement?.replaceAll(/\s+/g, " ").slice(0, 200);
    super(shown === undefined ? place : `${place} (${shown})`, { cause });
  }
}

/**
 * Runs a tenant's SQL in the client's transaction: new migrations, logic, reference data; then drops undeclared objects,
 * checks the schema rules and logs warnings. The client acts as `office_owner`.
 * @throws Refusal with file and line when a statement fails, or when a rule is violated
 * @throws LockedFailure when a statement waited too long for a table in use
 * @throws UnexplainedFailure when a statement of another file than `explained` fails in a new schema
 */
export async function runSources(
  client: pg.ClientBase,
  tenant: string,
  sources: Sources,
  { log, explained }: { log: (line: string) => void; explained?: SqlFile | undefined },
): Promise<void> {
  const { rows: found } = await client.query<{ isNew: boolean }>(
    `select to_regnamespace($1) is null as "isNew"`,
    [tenant],
  );
  const isNew = found[0]?.isNew === true;
  // Within a savepoint, a new value of an enumeration cannot be used before the commit, even if its type is new as well.
  const run = <T>(running: RunningFile, work: () => Promise<T>) =>
    reportLocks(shownPath(running.file.path), () =>
      isNew && running.file.path !== explained?.path
        ? reportFailures(running.file, work)
        : explainFailures(client, running, work),
    );
  await client.query(`create schema if not exists "${tenant}" authorization office_owner`);
  await client.query(
    `grant usage on schema "${tenant}" to office_api, office_server, office_worker`,
  );
  await checkHistory(client, tenant, sources);
  for (const migrations of sources.migrations) {
    const { folder, table, files } = migrations;
    await runner({
      // The surrounding transaction includes the schema rules, so the library must not commit.
      dbClient: withinTransaction(client, files, (file, text, work) =>
        run({ file, text, later: sources.logic }, work),
      ),
      dir: folder,
      ignorePattern: "\\..*|.*(?<!\\.sql)",
      direction: "up",
      migrationsTable: table,
      migrationsSchema: tenant,
      schema: [tenant, "extensions", "pg_temp"],
      singleTransaction: true,
      noLock: true,
      // Keeps only the list of pending files; the library repeats each and prints whole files on errors.
      logger: {
        info: (line) => line.startsWith("> -") && log(`applying ${line.slice(4)}`),
        warn: () => {},
        error: () => {},
      },
    });
    await client.query(
      `comment on table "${tenant}".${table} is '@internal\n@audit off because migrations keep this list\nThe migrations that this schema has.'`,
    );
    await storeChecksums(client, tenant, migrations);
  }
  await client.query(`set local search_path to "${tenant}", extensions, pg_temp`);
  for (const file of [...sources.logic, ...sources.data])
    await run({ file, text: file.text }, () => client.query(file.text));
  // Runs after all functions, whose tags count and which views may call.
  for (const call of ["protect_search()", "protect_views()", "drop_undeclared()"])
    await reportLocks(call, () => client.query(`select ${call}`));
  const { rows } = await client.query<{ violation: string }>(
    "select v as violation from schema_violations() as v",
  );
  const violations = rows.map((row) => row.violation);
  // Views that violate a rule may not be readable.
  if (violations.length === 0)
    violations.push(...(await brokenViewTags(client, log)), ...(await brokenPolicies(client)));
  if (violations.length > 0) throw new RuleViolationError(violations);
  const { rows: warnings } = await client.query<{ warning: string }>(
    "select w as warning from schema_warnings() as w",
  );
  for (const { warning } of warnings) log(`WARNING: ${warning}`);
}

/**
 * Writes the comment of a migrated schema: the stamp of its files, by which an outdated schema is recognized, the
 * fingerprint of what was checked, and the release. Nothing may change the schema afterwards.
 */
export async function writeSchemaComment(
  client: pg.ClientBase,
  tenant: string,
  { stamp }: Sources,
): Promise<void> {
  // A check may have taken another role.
  await client.query("set local role office_owner");
  const { rows } = await client.query<{ fingerprint: string }>(
    `select "${tenant}".schema_fingerprint() as fingerprint`,
  );
  await client.query(
    `comment on schema "${tenant}" is '${stamp} ${rows[0]?.fingerprint} ${release}'`,
  );
}

/** The library's client: ignores transaction commands and runs files by `runFile`, which adds file and line to errors. */
function withinTransaction(
  client: pg.ClientBase,
  files: readonly SqlFile[],
  runFile: (file: SqlFile, text: string, work: () => Promise<unknown>) => Promise<unknown>,
): pg.ClientBase {
  const within = Object.create(client) as pg.ClientBase;
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  within.query = ((...args: unknown[]) => {
    const [read, ...rest] = args;
    if (typeof read !== "string") return query(...args);
    // The library reads the files itself.
    const text = withLineFeeds(read);
    if (/^(begin|commit|rollback);?$/i.test(text)) return Promise.resolve({ rows: [] });
    const file = files.find((one) => text.includes(one.text.trim()));
    const run = () => query(text, ...rest);
    return file ? runFile(file, text, run) : run();
  }) as pg.ClientBase["query"];
  return within;
}

/** A file and the files that run after it. */
interface RunningFile {
  file: SqlFile;
  text: string;
  later?: readonly SqlFile[];
}

/** Runs a step of the migration. @throws LockedFailure with its name when it waited too long for a lock */
async function reportLocks<T>(step: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isDatabaseError(error) && isBusy(error) ? new LockedFailure(step, error) : error;
  }
}

/** Runs the SQL of a file; errors name the file. */
async function reportFailures<T>(file: SqlFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isDatabaseError(error) || isBusy(error)) throw error;
    throw new UnexplainedFailure(file, error);
  }
}

/**
 * Runs the SQL of a file in the client's transaction, with a savepoint before it.
 * @throws Refusal with file, line and fix when a statement fails
 */
export async function explainFailures<T>(
  client: pg.ClientBase,
  { file, text, later = [] }: RunningFile,
  run: () => Promise<T>,
): Promise<T> {
  await client.query("savepoint office_file");
  try {
    const result = await run();
    await client.query("release savepoint office_file");
    return result;
  } catch (error) {
    // A locked table is no error of the file; the caller retries.
    if (!isDatabaseError(error) || isBusy(error)) throw error;
    const { line, advice } = await locate(client, file, text, error);
    const all = [
      ...advice,
      ...adviceOfLogic(error, later),
      ...(await adviceOfOverloads(client, error)),
      ...(await adviceOfCheck(client, error)),
    ];
    throw refusalOf(file, { error, line, advice: all });
  }
}

/** Advice for a migration that calls a function defined in a later file, which a new schema does not have yet. */
function adviceOfLogic({ code, message }: DatabaseError, later: readonly SqlFile[]): string[] {
  const name = code === "42883" ? /^function (\w+)\(/.exec(message)?.[1] : undefined;
  const file = later.find(({ text }) => text.includes(`create or replace function ${name}(`));
  return file
    ? [
        `${shownPath(file.path)} makes it, after all migrations: move this statement to \`logic\`; instead of the default of a column, write a trigger there by \`ensure_trigger\``,
      ]
    : [];
}

/** Advice for a call that fits two functions: one may be left from before its parameters changed. */
async function adviceOfOverloads(
  client: pg.ClientBase,
  { code, message }: DatabaseError,
): Promise<string[]> {
  const name = code === "42725" ? /^function (?:\w+\.)?(\w+)\(/.exec(message)?.[1] : undefined;
  if (name === undefined) return [];
  await client.query("rollback to savepoint office_file");
  // Functions that this transaction has not created or replaced.
  const { rows } = await client.query<{ signature: string }>(
    `select p.oid::regprocedure::text as signature from pg_proc p
     where p.proname = $1 and p.pronamespace = current_schema()::regnamespace
       and age(p.xmin) > age(pg_current_xact_id()::xid) order by 1`,
    [name],
  );
  return rows.map(
    ({ signature }) =>
      `The schema has ${signature} from before. If its parameters changed, drop it in a migration: \`drop function if exists ${signature}\``,
  );
}

/** What the comment of a broken check demands. A check of the same transaction is not there any more. */
async function adviceOfCheck(
  client: pg.ClientBase,
  { code, schema, table, constraint }: DatabaseError,
): Promise<string[]> {
  if (code !== "23514" || constraint === undefined) return [];
  await client.query("rollback to savepoint office_file");
  const { rows } = await client.query<{ rule: string | null }>(
    `select obj_description(c.oid, 'pg_constraint') as rule from pg_constraint c
     where c.conname = $1 and c.conrelid = to_regclass(format('%I.%I', $2::text, $3::text))`,
    [constraint, schema, table],
  );
  return rows.flatMap(({ rule }) => (rule === null ? [] : `The rule ${constraint}: ${rule}`));
}

/** Finds the failed line by PostgreSQL's error position, or by running the file again statement by statement. */
async function locate(client: pg.ClientBase, file: SqlFile, text: string, error: DatabaseError) {
  if (error.position !== undefined) {
    // The sent text can contain more than the file, without the file's leading empty lines.
    const before = Array.from(text.slice(0, Math.max(text.indexOf(file.text.trim()), 0))).length;
    const leading = file.text.length - file.text.trimStart().length;
    return { line: lineAt(file.text, Number(error.position) - before + leading), advice: [] };
  }
  await client.query("rollback to savepoint office_file");
  // Imported on demand, because it loads PostgreSQL's parser.
  const { replay } = await import("./failures/replay.ts");
  return (await replay(client, file.text, error)) ?? { line: undefined, advice: [] };
}

/** Whether the error is a lock timeout or a deadlock. */
function isBusy(error: DatabaseError): boolean {
  return error.code === "55P03" || error.code === "40P01";
}
