import type { Constraint, Node, ScanToken } from "libpg-query";
import { report } from "./context.ts";
import type { Context } from "./context.ts";
import type { Source } from "./source.ts";
import { constraintsOf, elements, listWords, words } from "./tree.ts";

/** A new table needs a comment, unless it is temporary or a partition. */
export function checkTableComment(context: Context, commented: ReadonlySet<string>) {
  const table = newTable(context.statement.node);
  if (table && table.lasting && !commented.has(table.name))
    report(
      context,
      "table-comment",
      `Table ${table.name} has no comment. Write \`comment on table ${table.name} is '@read orders.read'\` with one permission key in this file: row-level security, policies, grants and the audit trigger derive from it.`,
    );
}

/** The table created by a statement. */
export function newTable(node: Node): { name: string; lasting: boolean } | undefined {
  if ("CreateStmt" in node) {
    const { relation, partbound } = node.CreateStmt;
    const lasting = relation?.relpersistence !== "t" && partbound === undefined;
    return { name: relation?.relname ?? "", lasting };
  }
  const into = intoClause(node);
  if (into === undefined) return undefined;
  return { name: into.relname ?? "", lasting: into.relpersistence !== "t" };
}

function intoClause(node: Node) {
  if ("CreateTableAsStmt" in node && node.CreateTableAsStmt.objtype === "OBJECT_TABLE")
    return node.CreateTableAsStmt.into?.rel;
  return "SelectStmt" in node ? node.SelectStmt.intoClause?.rel : undefined;
}

/** Tables with a non-empty comment in this migration. */
export function commentedTables({ statements }: Source): Set<string> {
  const tables = new Set<string>();
  for (const { node } of statements) {
    if (!("CommentStmt" in node) || node.CommentStmt.objtype !== "OBJECT_TABLE") continue;
    const { object, comment } = node.CommentStmt;
    if (comment !== undefined && comment.trim() !== "") tables.add(listWords(object).at(-1) ?? "");
  }
  return tables;
}

/** Foreign keys need an `on delete` action and an index. */
export function checkForeignKeys(context: Context, { tokens }: Source) {
  for (const { table, columns, constraint } of foreignKeysOf(context.statement.node)) {
    const at = constraint.location ?? context.statement.at;
    const name = `The foreign key of ${table} (${columns.join(", ")})`;
    if (!hasOnDelete(tokens, at))
      report(
        context,
        "on-delete",
        `${name} does not say what happens on delete. Add \`on delete restrict\`, \`cascade\` or \`set null\`.`,
        at,
      );
    const indexed = [...context.after.indexes.values()].some(
      (index) => index.table === table && columns.includes(index.columns[0] ?? ""),
    );
    if (!indexed)
      report(
        context,
        "foreign-key-index",
        `${name} has no index, so a delete in the other table reads all of ${table}. Add \`create index on ${table} (${columns.join(", ")})\`.`,
        at,
      );
  }
}

interface ForeignKey {
  table: string;
  columns: string[];
  constraint: Constraint;
}

function foreignKeysOf(node: Node): ForeignKey[] {
  const keys: ForeignKey[] = [];
  const add = (table: string, constraint: Constraint, column?: string) => {
    if (constraint.contype !== "CONSTR_FOREIGN") return;
    const columns = column === undefined ? words(constraint.fk_attrs) : [column];
    keys.push({ table, columns, constraint });
  };
  const addAll = (table: string, nodes: readonly Node[] | undefined) => {
    const { columns, constraints } = elements(nodes);
    for (const column of columns)
      for (const constraint of constraintsOf(column)) add(table, constraint, column.colname);
    for (const constraint of constraints) add(table, constraint);
  };
  if ("CreateStmt" in node && node.CreateStmt.relation?.relpersistence !== "t")
    addAll(node.CreateStmt.relation?.relname ?? "", node.CreateStmt.tableElts);
  if ("AlterTableStmt" in node)
    for (const command of node.AlterTableStmt.cmds ?? [])
      if ("AlterTableCmd" in command && command.AlterTableCmd.def)
        addAll(node.AlterTableStmt.relation?.relname ?? "", [command.AlterTableCmd.def]);
  return keys;
}

/**
 * Whether a constraint contains `on delete`. Reads the tokens, because the parse tree does not distinguish a written
 * `no action` from the default.
 */
function hasOnDelete(tokens: readonly ScanToken[], at: number): boolean {
  let depth = 0;
  let previous = "";
  for (const { start, text } of tokens) {
    if (start < at) continue;
    if (text === "(") depth++;
    if (text === ")") depth--;
    if (depth < 0 || text === ";" || (depth === 0 && text === ",")) return false;
    const word = text.toLowerCase();
    if (previous === "on" && word === "delete") return true;
    previous = word;
  }
  return false;
}
