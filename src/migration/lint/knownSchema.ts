import type {
  AlterTableStmt,
  ColumnDef,
  Constraint,
  CreateStmt,
  IndexStmt,
  Node,
} from "libpg-query";
import type { Statement } from "./source.ts";
import { constraintsOf, elements, listWords, notNullColumn, words } from "./tree.ts";

interface Index {
  table: string;
  columns: string[];
}

/** The schema objects of earlier migrations that rules need. */
export interface KnownSchema {
  /** Indexes that can find a row by their leading columns, by name. */
  indexes: ReadonlyMap<string, Index>;
  /** Constraints that prove a column not null once they are valid: `table.constraint` to the column. */
  notNull: ReadonlyMap<string, { column: string; valid: boolean }>;
}

/** What the product's migrations made of a table. */
export interface ProductTable {
  columns: ReadonlySet<string>;
  /** The names of its constraints, as far as they are written out. */
  constraints: ReadonlySet<string>;
}

/** The tables of the product by name; none for the product's own migrations. */
export type ProductTables = ReadonlyMap<string, ProductTable>;

export const emptySchema: KnownSchema = { indexes: new Map(), notNull: new Map() };

/** Applies statements to the facts. */
export function applyStatements(
  statements: readonly Statement[],
  before: KnownSchema,
): KnownSchema {
  const schema = { indexes: new Map(before.indexes), notNull: new Map(before.notNull) };
  for (const { node } of statements) {
    if ("CreateStmt" in node) applyTable(node.CreateStmt, schema);
    else if ("IndexStmt" in node) applyIndex(node.IndexStmt, schema);
    else if ("AlterTableStmt" in node) applyAlterTable(node.AlterTableStmt, schema);
    else if ("DropStmt" in node) {
      const { objects, removeType } = node.DropStmt;
      const names = (objects ?? []).map((object) => listWords(object).at(-1) ?? "");
      for (const name of names) {
        if (removeType === "OBJECT_INDEX") schema.indexes.delete(name);
        if (removeType === "OBJECT_TABLE") removeTable(name, schema);
      }
    }
  }
  return schema;
}

interface Draft {
  indexes: Map<string, Index>;
  notNull: Map<string, { column: string; valid: boolean }>;
}

function applyTable(statement: CreateStmt, schema: Draft) {
  const table = statement.relation?.relname ?? "";
  const { columns, constraints } = elements(statement.tableElts);
  for (const column of columns) applyColumn(table, column, schema);
  for (const constraint of constraints) applyConstraint(table, constraint, schema);
}

function applyColumn(table: string, column: ColumnDef, schema: Draft) {
  for (const constraint of constraintsOf(column))
    applyConstraint(table, constraint, schema, column.colname);
}

function applyConstraint(table: string, constraint: Constraint, schema: Draft, column?: string) {
  const { contype } = constraint;
  const keys = column === undefined ? words(constraint.keys) : [column];
  if ((contype === "CONSTR_PRIMARY" || contype === "CONSTR_UNIQUE") && !constraint.indexname) {
    const name = contype === "CONSTR_PRIMARY" ? `${table}_pkey` : `${table}_${keys.join("_")}_key`;
    schema.indexes.set(constraint.conname ?? name, { table, columns: keys });
  }
  if (contype === "CONSTR_EXCLUSION") applyExclusion(table, constraint, schema);
  const proven = contype === "CONSTR_NOTNULL" ? keys[0] : notNullColumn(constraint.raw_expr);
  if (proven === undefined) return;
  const name = constraint.conname ?? `${table}_${proven}_not_null`;
  schema.notNull.set(`${table}.${name}`, {
    column: proven,
    valid: constraint.skip_validation !== true,
  });
}

/** An index of an exclusion constraint whose first column is compared by `=` finds rows by it, also a GiST index. */
function applyExclusion(table: string, constraint: Constraint, schema: Draft) {
  const parts = (constraint.exclusions ?? []).map((node) => {
    const [part, operator] = "List" in node ? (node.List.items ?? []) : [];
    const column = part && "IndexElem" in part ? part.IndexElem.name : undefined;
    return { column: column ?? "", operator: listWords(operator).at(-1) };
  });
  const columns = parts.map(({ column }) => column);
  if (parts[0]?.operator === "=" && isComplete(constraint.where_clause, columns))
    schema.indexes.set(constraint.conname ?? `${table}_${columns.join("_")}_excl`, {
      table,
      columns,
    });
}

/** Whether an index has all rows, or omits only nulls in its first column, which a foreign key never looks up. */
function isComplete(condition: Node | undefined, [first]: readonly string[]): boolean {
  return condition === undefined || notNullColumn(condition) === first;
}

function applyIndex(statement: IndexStmt, schema: Draft) {
  const table = statement.relation?.relname ?? "";
  const columns = (statement.indexParams ?? []).map((param) =>
    "IndexElem" in param ? (param.IndexElem.name ?? "") : "",
  );
  const finds = statement.accessMethod === "btree" || statement.accessMethod === "hash";
  if (finds && isComplete(statement.whereClause, columns))
    schema.indexes.set(statement.idxname ?? `${table}_${columns.join("_")}_idx`, {
      table,
      columns,
    });
}

function applyAlterTable(statement: AlterTableStmt, schema: Draft) {
  const table = statement.relation?.relname ?? "";
  for (const node of statement.cmds ?? []) {
    if (!("AlterTableCmd" in node)) continue;
    const { subtype, name, def } = node.AlterTableCmd;
    if (def && "ColumnDef" in def && subtype === "AT_AddColumn")
      applyColumn(table, def.ColumnDef, schema);
    if (def && "Constraint" in def) applyConstraint(table, def.Constraint, schema);
    if (subtype === "AT_ValidateConstraint") {
      const known = schema.notNull.get(`${table}.${name}`);
      if (known) schema.notNull.set(`${table}.${name}`, { ...known, valid: true });
    }
    if (subtype === "AT_DropConstraint") {
      schema.indexes.delete(name ?? "");
      schema.notNull.delete(`${table}.${name}`);
    }
  }
}

function removeTable(table: string, schema: Draft) {
  for (const [name, index] of schema.indexes)
    if (index.table === table) schema.indexes.delete(name);
  for (const name of schema.notNull.keys())
    if (name.startsWith(`${table}.`)) schema.notNull.delete(name);
}
