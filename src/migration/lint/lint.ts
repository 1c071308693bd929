import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkAlterTable } from "./alterTable.ts";
import { applyAllows } from "./allow.ts";
import type { Context } from "./context.ts";
import { applyStatements, emptySchema } from "./knownSchema.ts";
import type { KnownSchema, ProductTables } from "./knownSchema.ts";
import { checkConventions } from "./conventions.ts";
import { lintNames } from "./names.ts";
import { checkProductTables } from "./productTables.ts";
import type { Finding, Problem } from "./rules.ts";
import { readSource, SyntaxProblem } from "./source.ts";
import type { Source } from "./source.ts";
import { checkStatement } from "./statements.ts";
import { checkForeignKeys, checkTableComment, commentedTables, newTable } from "./tables.ts";
import { listWords } from "./tree.ts";

/**
 * Checks one migration for locks on tables in use, changes that break running servers, and conventions. `known` are the
 * facts from earlier migrations, `product` the tables that a deployment's migration leaves as they are; problems are in
 * file order.
 */
export function lintMigration(
  name: string,
  sql: string,
  known: KnownSchema = emptySchema,
  product: ProductTables = new Map(),
): Problem[] {
  try {
    const source = readSource(sql);
    return applyAllows(source, findingsOf(source, known, product))
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, rule, message, severity = "error" }) => {
        return { file: name, line: source.lineAt(at), rule, severity, message };
      });
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    const message = `PostgreSQL cannot parse this: ${error.message}.`;
    return [{ file: name, line: error.line, rule: "syntax", severity: "error", message }];
  }
}

/** The facts after a migration; one that does not parse adds none. */
export function schemaAfter(sql: string, known: KnownSchema = emptySchema): KnownSchema {
  try {
    return applyStatements(readSource(sql).statements, known);
  } catch (error) {
    if (error instanceof SyntaxProblem) return known;
    throw error;
  }
}

/**
 * Checks the migrations of a folder, each with the facts from earlier ones. With `only`, reports problems of the named
 * files only.
 */
export function lintFolder(folder: string, only?: readonly string[]): Problem[] {
  const names = readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .toSorted();
  const problems = lintNames(names);
  let known = emptySchema;
  for (const name of names.filter((one) => one.endsWith(".sql"))) {
    const sql = readFileSync(join(folder, name), "utf8");
    problems.push(...lintMigration(name, sql, known));
    known = schemaAfter(sql, known);
  }
  return problems.filter(({ file }) => only === undefined || only.includes(file));
}

function findingsOf(source: Source, known: KnownSchema, product: ProductTables): Finding[] {
  const { statements } = source;
  const created = new Set<string>();
  const createdTypes = new Set<string>();
  for (const { node } of statements) {
    const table = newTable(node);
    if (table) created.add(table.name);
    if ("CreateDomainStmt" in node)
      createdTypes.add(listWords(node.CreateDomainStmt.domainname?.at(-1)).at(-1) ?? "");
  }
  const added = addedConstraints(source, created);
  const commented = commentedTables(source);
  const after = applyStatements(statements, known);
  const findings = downMigrations(source);
  let before = known;
  for (const statement of statements) {
    const context: Context = {
      ...{ statement, created, createdTypes, added, before, after, product, findings },
    };
    checkAlterTable(context);
    checkStatement(context);
    checkConventions(context);
    checkTableComment(context, commented);
    checkForeignKeys(context, source);
    checkProductTables(context);
    before = applyStatements([statement], before);
  }
  return findings;
}

function addedConstraints({ statements }: Source, created: ReadonlySet<string>): Set<string> {
  const added = new Set<string>();
  for (const { node } of statements) {
    if (!("AlterTableStmt" in node)) continue;
    const table = node.AlterTableStmt.relation?.relname ?? "";
    for (const command of node.AlterTableStmt.cmds ?? []) {
      const def = "AlterTableCmd" in command ? command.AlterTableCmd.def : undefined;
      if (def && "Constraint" in def && !created.has(table))
        added.add(`${table}.${def.Constraint.conname ?? ""}`);
    }
  }
  return added;
}

/** The migration library treats the text after such a comment as the down migration and does not run it. */
function downMigrations({ tokens }: Source): Finding[] {
  return tokens
    .filter(
      ({ tokenName, text }) => tokenName === "SQL_COMMENT" && /^[-\s]*down\s+migration/i.test(text),
    )
    .map(({ start }) => ({
      rule: "transaction",
      at: start,
      statementAt: start,
      message:
        "Migrations go forward only. Take this part out, and write a new migration to undo one.",
    }));
}
