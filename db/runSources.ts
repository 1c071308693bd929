import { basename, relative } from "node:path";
import { runner } from "node-pg-migrate";
import type pg from "pg";
import { isDatabaseError } from "../src/postgres/databaseErrors.ts";
import { Refusal, RuleViolationError } from "./refusals.ts";
import { brokenPromises } from "./viewPromises.ts";
import type { Sources, SqlFile } from "./sources.ts";

/**
 * Runs an area's SQL within the client's transaction: migrations that are new, then logic, then reference data; then what no
 * file asks for any more goes, and the rules of the house are asked. The client acts as `office_owner`.
 * @throws Refusal when a statement fails, with its file and line, or a rule is broken
 */
export async function runSources(
  client: pg.ClientBase,
  area: string,
  sources: Sources,
  log: (line: string) => void,
): Promise<void> {
  await client.query(`create schema if not exists "${area}" authorization office_owner`);
  await client.query(`grant usage on schema "${area}" to office_api, office_server, office_worker`);
  for (const { folder, table, files } of sources.migrations) {
    await runner({
      // One transaction holds all of it, rules included, so the library's own must not end it.
      dbClient: withinTransaction(client, files, sources.logic),
      dir: folder,
      ignorePattern: "\\..*|.*(?<!\\.sql)",
      direction: "up",
      migrationsTable: table,
      migrationsSchema: area,
      schema: [area, "extensions", "pg_temp"],
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
      `comment on table "${area}".${table} is '@internal\n@audit off because migrations keep this list\nThe migrations that this schema has.'`,
    );
  }
  await client.query(`set local search_path to "${area}", extensions, pg_temp`);
  for (const file of [...sources.logic, ...sources.data])
    await telling(file, file.text, () => client.query(file.text));
  // After all functions, since their tags count and views may call them.
  await client.query("select protect_search()");
  await client.query("select protect_views()");
  await client.query("select drop_unmentioned()");
  const { rows } = await client.query<{ violation: string }>(
    "select v as violation from rule_violations() as v",
  );
  const violations = rows.map((row) => row.violation);
  // Views that break a rule may not be readable at all.
  if (violations.length === 0) violations.push(...(await brokenPromises(client, log)));
  if (violations.length > 0) throw new RuleViolationError(violations);
  // What the area was made of, by which a test run's that is older than the main one is known.
  await client.query(`comment on schema "${area}" is '${sources.stamp}'`);
}

/** The client for the library: it begins and ends nothing, and says where in which file an error is. */
function withinTransaction(
  client: pg.ClientBase,
  files: readonly SqlFile[],
  logic: readonly SqlFile[],
): pg.ClientBase {
  const within = Object.create(client) as pg.ClientBase;
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  within.query = ((...args: unknown[]) => {
    const [text] = args;
    if (typeof text !== "string") return query(...args);
    if (/^(begin|commit|rollback);?$/i.test(text)) return Promise.resolve({ rows: [] });
    const file = files.find((one) => text.includes(one.text.trim()));
    return file ? telling(file, text, () => query(...args), logic) : query(...args);
  }) as pg.ClientBase["query"];
  return within;
}

/** Runs the SQL of a file; what fails becomes a message with the file and, where PostgreSQL names one, the line. */
async function telling<T>(
  file: SqlFile,
  text: string,
  run: () => Promise<T>,
  later: readonly SqlFile[] = [],
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    // Not having got a table is no fault of the file: whoever called tries again.
    if (!isDatabaseError(error) || isBusy(error)) throw error;
    const start = text.indexOf(file.text.trim());
    const before = Number(error.position ?? 0) - 1 - Math.max(start, 0);
    const line = error.position ? `:${file.text.slice(0, before).split("\n").length}` : "";
    const more = [
      error.detail,
      error.hint,
      error.where?.split("\n")[0],
      hintOfLogic(error, later),
    ].filter(Boolean);
    throw new Refusal(
      [
        `${shown(file.path)}${line}: ${error.message}; nothing was changed`,
        ...more.map((one) => `  ${one}`),
      ].join("\n"),
      { cause: error },
    );
  }
}

/** Where a migration calls a function that only the files after it make: a new schema does not have it yet. */
function hintOfLogic({ code, message }: Error & { code?: string }, later: readonly SqlFile[]) {
  const name = code === "42883" ? /^function (\w+)\(/.exec(message)?.[1] : undefined;
  const file = later.find(({ text }) => text.includes(`create or replace function ${name}(`));
  return file && `${shown(file.path)} makes it, after all migrations: move this view to \`logic\``;
}

function shown(path: string): string {
  const from = relative("", path);
  return from.startsWith("..") ? basename(path) : from;
}

/** Whether a lock could not be had in time, or only by ending another's wait for it. */
export function isBusy(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === "55P03" || error.code === "40P01");
}
