import type { GraphQLSchema } from "graphql";
import type pg from "pg";
import { type Access, accessLines, readAccess } from "./accessChanges.ts";
import { type ApiChanges, additionLines, breakingLines, compareApis } from "./apiChanges.ts";
import { checkApi } from "./checkApi.ts";
import { shownPath } from "./fileNames.ts";
import { apiFunctions } from "./leftFunctions.ts";
import { type FunctionProblem, checkFunctions } from "./functions/check.ts";
import { migrateTenant } from "./migrateTenant.ts";
import { Refusal } from "./refusals.ts";
import type { Sources } from "./sources.ts";

type Log = (line: string) => void;

/** The input and options of a rehearsal. */
export interface Rehearsal {
  tenant: string;
  sources: Sources;
  extraSqlDir?: string | undefined;
  /** Whether breaking API changes are allowed. */
  allowBreaking: boolean;
  log: Log;
}

/**
 * Applies everything to an empty schema and rolls back, so that slow or failing steps lock no table in use. Finds
 * broken functions and breaking API changes.
 * @returns the functions of the API that the files create
 * @throws Refusal with all findings
 */
export async function rehearse(client: pg.ClientBase, rehearsal: Rehearsal): Promise<string[]> {
  const { tenant, extraSqlDir, log } = rehearsal;
  let after: Api | undefined;
  let broken: FunctionProblem[] = [];
  let functions: string[] = [];
  await migrateTenant(client, `${tenant}_rehearsal`, {
    extraSqlDir,
    rehearse: true,
    // The other lines tell of files that are applied.
    log: (line) => line.startsWith("WARNING: ") && log(line),
    check: async (within, copy) => {
      functions = await apiFunctions(within);
      after = await readApi(within, copy);
      broken = await checkFunctions(within, copy);
    },
  });
  const before = await currentApi(client, tenant, log);
  const refusals = [
    ...(await functionRefusals(client, rehearsal, broken)),
    ...(before && after ? apiRefusals(compareApis(before.schema, after.schema), rehearsal) : []),
  ];
  const access = before && after ? accessLines(before.access, after.access) : [];
  if (access.length > 0) log(["The migration changes who may use the API:", ...access].join("\n"));
  if (refusals.length > 0) throw new Refusal(refusals.join("\n"));
  return functions;
}

/** Checks a new, uncommitted schema for errors that would stop a server's start or a function's first call. */
export async function checkNewTenant(
  client: pg.ClientBase,
  tenant: string,
  sources: Sources,
): Promise<void> {
  await checkApi(client, tenant);
  const broken = (await checkFunctions(client, tenant)).filter(({ isUnreadable }) => !isUnreadable);
  if (broken.length > 0) throw new Refusal(brokenFunctions(broken, sources));
}

interface Api {
  schema: GraphQLSchema;
  access: Access;
}

async function readApi(client: pg.ClientBase, tenant: string): Promise<Api> {
  const schema = await checkApi(client, tenant);
  return { schema, access: await readAccess(client, schema) };
}

/** The API of the current schema; undefined when this release cannot build one from a schema of an older release. */
async function currentApi(
  client: pg.ClientBase,
  tenant: string,
  log: Log,
): Promise<Api | undefined> {
  try {
    return await inCurrentSchema(client, tenant, () => readApi(client, tenant));
  } catch (error) {
    const [, reason] = (error instanceof Error ? error.message : String(error)).split("\n");
    log(
      `WARNING: the API before this migration is unknown, so no change of it is shown: this release cannot serve the schema as it is.${reason === undefined ? "" : `\n${reason}`}`,
    );
    return undefined;
  }
}

/** Functions that already fail in the current schema are warnings, because this migration did not cause it. */
async function functionRefusals(
  client: pg.ClientBase,
  { tenant, sources, log }: Rehearsal,
  found: readonly FunctionProblem[],
): Promise<string[]> {
  for (const { signature, message } of found.filter(({ isUnreadable }) => isUnreadable))
    log(`WARNING: function ${signature} ${message}`);
  const broken = found.filter(({ isUnreadable }) => !isUnreadable);
  if (broken.length === 0) return [];
  const signatures = new Set(broken.map(({ signature }) => signature));
  const present = await inCurrentSchema(client, tenant, () =>
    checkFunctions(client, tenant, signatures),
  );
  const wasBroken = (problem: FunctionProblem) =>
    present.some(
      ({ signature, message }) => signature === problem.signature && message === problem.message,
    );
  for (const problem of broken.filter(wasBroken))
    log(`WARNING: fails at its next call, as before this migration: ${placeOf(problem, sources)}`);
  const fresh = broken.filter((problem) => !wasBroken(problem));
  return fresh.length === 0 ? [] : [brokenFunctions(fresh, sources)];
}

function brokenFunctions(broken: readonly FunctionProblem[], sources: Sources): string {
  return [
    `${broken.length === 1 ? "One place" : `${broken.length} places`} in functions would fail at the next call, nothing was changed:`,
    ...broken.map((problem) => `  - ${placeOf(problem, sources)}`),
    "  Change these functions together with the migration. A line that is right all the same has above it, in the function's body:",
    "  -- lint: allow function-body because <reason>",
  ].join("\n");
}

function apiRefusals(changes: ApiChanges, { allowBreaking, log }: Rehearsal): string[] {
  const additions = additionLines(changes);
  if (additions.length > 0) log(["The migration adds to the API:", ...additions].join("\n"));
  if (changes.breaking.length === 0) return [];
  const lines = breakingLines(changes);
  if (allowBreaking) {
    log(["The migration takes from the API (--allow-breaking):", ...lines].join("\n"));
    return [];
  }
  return [
    [
      "This migration would break callers of the API; nothing was changed:",
      ...lines,
      // Callers that leave the field out would be rejected.
      ...(changes.breaking.some((line) =>
        /^Create\w+Input\.\w+ changed type from \w+ to \w+!/.test(line),
      )
        ? [
            "  A column that became required needs a default, so that callers may leave it out: `alter column … set default …`.",
          ]
        : []),
      '  Keep the old name beside the new one and mark it `@deprecated` (docs/database.md, "Changing what is in use").',
      "  Where no caller is left, allow it: `-- --allow-breaking` after `npm run db:migrate`, `npm start` or `npm run dev`.",
    ].join("\n"),
  ];
}

/** The file and line of a problem, with the function and the error. */
function placeOf(
  { signature, source, line, message }: FunctionProblem,
  { logic, migrations }: Sources,
): string {
  const files = [...migrations.flatMap((folder) => folder.files), ...logic];
  const file = files.findLast(({ text }) => text.includes(source));
  const what = `${signature}: ${message}`;
  if (!file) return `line ${line} of ${what}`;
  const before = file.text.slice(0, file.text.indexOf(source)).split("\n").length - 1;
  return `${shownPath(file.path)}:${before + line}: ${what}`;
}

/** Runs `work` in the current schema as its owner and rolls back. */
async function inCurrentSchema<T>(
  client: pg.ClientBase,
  tenant: string,
  work: () => Promise<T>,
): Promise<T> {
  await client.query(
    `begin; set local role office_owner; set local search_path to "${tenant}", extensions, pg_temp`,
  );
  try {
    return await work();
  } finally {
    await client.query("rollback");
  }
}
