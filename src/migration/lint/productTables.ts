import type { AlterTableCmd, Node } from "libpg-query";
import { type Context, report } from "./context.ts";
import type { ProductTable, ProductTables } from "./knownSchema.ts";
import { readSource, SyntaxProblem } from "./source.ts";
import { constraintsOf, elements, listWords } from "./tree.ts";

/** The tables that migrations make. Renames and drops are not followed. */
export function tablesOf(migrations: readonly string[]): ProductTables {
  const tables = new Map<string, { columns: Set<string>; constraints: Set<string> }>();
  for (const { node } of migrations.flatMap(statementsOf)) {
    if ("CreateStmt" in node && node.CreateStmt.partbound === undefined) {
      const { columns, constraints } = elements(node.CreateStmt.tableElts);
      const all = [...constraints, ...columns.flatMap(constraintsOf)];
      tables.set(node.CreateStmt.relation?.relname ?? "", {
        columns: new Set(columns.map(({ colname }) => colname ?? "")),
        constraints: new Set(all.flatMap(({ conname }) => conname ?? [])),
      });
    }
    for (const { table, subtype, def } of commandsOf(node)) {
      if (def && "ColumnDef" in def && subtype === "AT_AddColumn")
        tables.get(table)?.columns.add(def.ColumnDef.colname ?? "");
      if (def && "Constraint" in def)
        tables.get(table)?.constraints.add(def.Constraint.conname ?? "");
    }
  }
  return tables;
}

/** A deployment's migration adds columns and constraints to tables of the product, and leaves the rest as it is. */
export function checkProductTables(context: Context): void {
  const { product, statement } = context;
  const { node } = statement;
  const refuse = (table: string, change: string) => {
    report(
      context,
      "product-table",
      `${table} belongs to the product, and ${change}. Add columns or a table of your own instead.`,
    );
  };
  const hasColumn = (table: string, column: string | undefined) =>
    product.get(table)?.columns.has(column ?? "") === true;
  if ("CommentStmt" in node) {
    const names = listWords(node.CommentStmt.object);
    const [table = "", column = ""] = names.slice(-2);
    const last = names.at(-1) ?? "";
    if (node.CommentStmt.objtype === "OBJECT_TABLE" && product.has(last))
      refuse(last, "its comment says who may read and change its rows");
    if (node.CommentStmt.objtype === "OBJECT_COLUMN" && hasColumn(table, column))
      refuse(table, `the comment on its column ${column} has the tags that the product relies on`);
  }
  for (const { table, subtype, name } of commandsOf(node)) {
    const known = product.get(table);
    if (!known) continue;
    if (subtype === "AT_DropConstraint" && isProductConstraint(table, known, name ?? ""))
      refuse(table, `it relies on the constraint ${name}`);
    else if (!addsOnly.has(subtype ?? "") && hasColumn(table, name))
      refuse(table, `this ${subtype === "AT_DropColumn" ? "drops" : "changes"} its column ${name}`);
  }
  if ("RenameStmt" in node) {
    const { relation, renameType, subname } = node.RenameStmt;
    const table = relation?.relname ?? "";
    if (renameType === "OBJECT_TABLE" && product.has(table)) refuse(table, "this renames it");
    if (renameType === "OBJECT_COLUMN" && hasColumn(table, subname))
      refuse(table, `this renames its column ${subname}`);
  }
  if ("DropStmt" in node && node.DropStmt.removeType === "OBJECT_TABLE")
    for (const object of node.DropStmt.objects ?? []) {
      const table = listWords(object).at(-1) ?? "";
      if (product.has(table)) refuse(table, "this drops it");
    }
}

const addsOnly = new Set([
  "AT_AddColumn",
  "AT_AddConstraint",
  "AT_ValidateConstraint",
  // A deployment's column joins the words of a search so.
  "AT_SetExpression",
]);

/** Whether a constraint is one of the product, by its name or the name that PostgreSQL gives to one of its columns. */
function isProductConstraint(table: string, known: ProductTable, name: string): boolean {
  const usual = (column: string) =>
    ["fkey", "key", "check", "not_null"].map((kind) => `${table}_${column}_${kind}`);
  return (
    known.constraints.has(name) ||
    name === `${table}_pkey` ||
    [...known.columns].some((column) => usual(column).includes(name))
  );
}

function commandsOf(node: Node): (AlterTableCmd & { table: string })[] {
  if (!("AlterTableStmt" in node)) return [];
  const { relation, cmds } = node.AlterTableStmt;
  return (cmds ?? []).flatMap((command) =>
    "AlterTableCmd" in command
      ? [{ ...command.AlterTableCmd, table: relation?.relname ?? "" }]
      : [],
  );
}

function statementsOf(sql: string) {
  try {
    return readSource(sql).statements;
  } catch (error) {
    if (error instanceof SyntaxProblem) return [];
    throw error;
  }
}
