import { runner } from "node-pg-migrate";
import type pg from "pg";
import type { DatabaseError } from "pg";
import { isDatabaseError } from "../src/errors/databaseErrors.ts";
import { lineAt, refusalOf } from "./failures/describe.ts";
import { checkHistory, keepChecksums } from "./history.ts";
import { shownPath } from "./fileNames.ts";
import { RuleViolationError } from "./refusals.ts";
import { brokenViewTags } from "./viewTags.ts";
import type { Sources, SqlFile } from "./sources.ts";

/**
 * Runs a tenant's SQL within the client's transaction: migrations that are new, then logic, then reference data; then what no
 * file asks for any more goes, and the rules of the house are asked. The client acts as `office_owner`.
 * @throws Refusal when a statement fails, with its file and line, or a rule is broken
 */
export async function runSources(
  client: pg.ClientBase,
  tenant: string,
  sources: Sources,
  log: (line: string) => void,
): Promise<void> {
  await client.query(`create schema if not exists "${tenant}" authorization office_owner`);
  await client.query(
    `grant usage on schema "${tenant}" to office_api, office_server, office_worker`,
  );
  await checkHistory(client, tenant, sources);
  for (const migrations of sources.migrations) {
    const { folder, table, files } = migrations;
    await runner({
      // One transaction holds all of it, rules included, so the library's own must not end it.
      dbClient: withinTransaction(client, files, sources.logic),
      dir: folder,
      ignorePattern: "\\..*|.*(?<!\\.sql)",
      direction: "up",
      migrationsTable: table,
      migrationsSchema: tenant,
      schema: [tenant, "extensions", "pg_temp"],
      singleTransaction: true,
      noLock: true,
      // Its list of what it is about to run is enough; it says each again, and shows a whole file for one error in it.
      logger: {
        info: (line) => line.startsWith("> -") && log(`applying ${line.slice(4)}`),
        warn: () => {},
        error: () => {},
      },
    });
    await client.query(
      `comment on table "${tenant}".${table} is '@internal\n@audit off because migrations keep this list\nThe migrations that this schema has.'`,
    );
    await keepChecksums(client, tenant, migrations);
  }
  await client.query(`set local search_path to "${tenant}", extensions, pg_temp`);
  for (const file of [...sources.logic, ...sources.data])
    await explainFailures(client, { file, text: file.text }, () => client.query(file.text));
  // After all functions, since their tags count and views may call them.
  await client.query("select protect_search()");
  await client.query("select protect_views()");
  await client.query("select drop_undeclared()");
  const { rows } = await client.query<{ violation: string }>(
    "select v as violation from schema_violations() as v",
  );
  const violations = rows.map((row) => row.violation);
  // Views that break a rule may not be readable at all.
  if (violations.length === 0) violations.push(...(await brokenViewTags(client, log)));
  if (violations.length > 0) throw new RuleViolationError(violations);
  // What the tenant was made of, by which a test run's that is older than the main one is known.
  await client.query(`comment on schema "${tenant}" is '${sources.stamp}'`);
}

/** The client for the library: it begins and ends nothing, and says where in which file an error is. */
function withinTransaction(
  client: pg.ClientBase,
  files: readonly SqlFile[],
  later: readonly SqlFile[],
): pg.ClientBase {
  const within = Object.create(client) as pg.ClientBase;
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  within.query = ((...args: unknown[]) => {
    const [text] = args;
    if (typeof text !== "string") return query(...args);
    if (/^(begin|commit|rollback);?$/i.test(text)) return Promise.resolve({ rows: [] });
    const file = files.find((one) => text.includes(one.text.trim()));
    return file
      ? explainFailures(client, { file, text, later }, () => query(...args))
      : query(...args);
  }) as pg.ClientBase["query"];
  return within;
}

/** A file as it is sent, with the files that run after it. */
interface RunningFile {
  file: SqlFile;
  text: string;
  later?: readonly SqlFile[];
}

/** Runs the SQL of a file; what fails becomes a message with the file, the line and what to do. */
async function explainFailures<T>(
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
    // A table in use is no fault of the file: the caller tries again.
    if (!isDatabaseError(error) || isBusy(error)) throw error;
    const { line, advice } = await locate(client, file, text, error);
    throw refusalOf(file, { error, line, advice: [...advice, ...adviceOfLogic(error, later)] });
  }
}

/** Where a migration calls a function that only the files after it make: a new schema does not have it yet. */
function adviceOfLogic({ code, message }: DatabaseError, later: readonly SqlFile[]): string[] {
  const name = code === "42883" ? /^function (\w+)\(/.exec(message)?.[1] : undefined;
  const file = later.find(({ text }) => text.includes(`create or replace function ${name}(`));
  return file
    ? [`${shownPath(file.path)} makes it, after all migrations: move this view to \`logic\``]
    : [];
}

/** Finds the line that failed: by the position that PostgreSQL gives, else by running the file again in steps. */
async function locate(client: pg.ClientBase, file: SqlFile, text: string, error: DatabaseError) {
  if (error.position !== undefined) {
    // What is sent can hold more than the file, and the file may begin with empty lines that are not sent.
    const before = Array.from(text.slice(0, Math.max(text.indexOf(file.text.trim()), 0))).length;
    const leading = file.text.length - file.text.trimStart().length;
    return { line: lineAt(file.text, Number(error.position) - before + leading), advice: [] };
  }
  await client.query("rollback to savepoint office_file");
  // Loads PostgreSQL's parser, which only a failure needs.
  const { replay } = await import("./failures/replay.ts");
  return (await replay(client, file.text, error)) ?? { line: undefined, advice: [] };
}

/** Whether a lock could not be had in time, or only by ending another's wait for it. */
export function isBusy(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === "55P03" || error.code === "40P01");
}
