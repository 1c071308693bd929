import { basename } from "node:path";
import type pg from "pg";
import { shownPath } from "./fileNames.ts";
import { readApplied } from "./history.ts";
import { emptySchema } from "./lint/knownSchema.ts";
import { schemaAfter, lintMigration } from "./lint/lint.ts";
import { tablesOf } from "./lint/productTables.ts";
import { functionsOf, misplacedStatements } from "./lint/logic.ts";
import type { Problem } from "./lint/rules.ts";
import { Refusal } from "./refusals.ts";
import type { SqlFile, Sources } from "./sources.ts";

/** Rules that a comment cannot allow, because the statement would fail. */
const withoutAllow = new Set(["syntax", "transaction", "allow"]);

/**
 * Lints the migrations that a tenant does not have yet, and the deployment's `logic`.
 * @throws Refusal with each problem of both, its line and its fix
 */
export async function lintSources(
  client: pg.ClientBase,
  tenant: string,
  sources: Sources,
  log: (line: string) => void,
): Promise<void> {
  const problems = [
    ...(await pendingProblems(client, tenant, sources, log)),
    ...logicProblems(sources),
  ];
  if (problems.length > 0) throw new Refusal(problems.join("\n"));
}

async function pendingProblems(
  client: pg.ClientBase,
  tenant: string,
  sources: Sources,
  log: (line: string) => void,
): Promise<string[]> {
  const pending = await pendingFiles(client, tenant, sources);
  if (pending.size === 0) return [];
  let known = emptySchema;
  const errors: string[] = [];
  const [product, ...own] = sources.migrations.map(({ files }) => files);
  const productTables = tablesOf((product ?? []).map(({ text }) => text));
  for (const file of [...(product ?? []), ...own.flat()]) {
    const tables = product?.includes(file) === true ? undefined : productTables;
    if (pending.has(file))
      for (const problem of lintMigration(shownPath(file.path), file.text, known, tables))
        if (problem.severity === "error") errors.push(describe(file, problem));
        else log(`WARNING: ${problem.file}:${problem.line}: ${problem.message}`);
    known = schemaAfter(file.text, known);
  }
  return errors.length === 0
    ? []
    : [
        `The new migrations break ${errors.length} ${errors.length === 1 ? "rule" : "rules"}, nothing was changed:`,
        ...errors,
      ];
}

/**
 * Looks for statements in the deployment's `logic` that do not belong there.
 * @throws Refusal with each of them, its line and its fix
 */
export function lintLogic(sources: Sources): void {
  const problems = logicProblems(sources);
  if (problems.length > 0) throw new Refusal(problems.join("\n"));
}

function logicProblems({ ownLogic, logic, migrations }: Sources): string[] {
  if (ownLogic.length === 0) return [];
  const texts = (files: readonly SqlFile[]) => files.map(({ text }) => text);
  const kept = {
    tables: tablesOf(migrations.flatMap(({ files }) => texts(files))),
    functions: functionsOf(texts(logic.filter((file) => !ownLogic.includes(file)))),
  };
  const lines = ownLogic.flatMap((file) =>
    misplacedStatements(file.text, kept).flatMap(({ line, message }) => [
      `  - ${shownPath(file.path)}:${line}: ${message}`,
      `    > ${shownLine(file, line)}`,
    ]),
  );
  return lines.length === 0
    ? []
    : ["`logic` changes more than it may, nothing was changed:", ...lines];
}

async function pendingFiles(
  client: pg.ClientBase,
  tenant: string,
  sources: Sources,
): Promise<Set<SqlFile>> {
  const pending = new Set<SqlFile>();
  for (const { table, files } of sources.migrations) {
    const applied = new Set((await readApplied(client, tenant, table)).map(({ file }) => file));
    for (const file of files) if (!applied.has(basename(file.path))) pending.add(file);
  }
  return pending;
}

const shownLine = ({ text }: SqlFile, line: number) =>
  text.split("\n")[line - 1]?.trim().slice(0, 200);

function describe(source: SqlFile, { file, line, rule, message }: Problem): string {
  const shown = shownLine(source, line);
  return [
    `  - ${file}:${line}: ${message}`,
    ...(shown ? [`    > ${shown}`] : []),
    ...(withoutAllow.has(rule)
      ? []
      : [
          `    To accept it knowingly, write above the statement: -- lint: allow ${rule} because <reason>`,
        ]),
  ].join("\n");
}
