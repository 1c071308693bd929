import type { AlterTableStmt, ColumnDef, Constraint, CreateStmt, IndexStmt } from "libpg-query";
import type { Statement } from "./source.ts";
import { constraintsOf, elements, listWords, notNullColumn, words } from "./tree.ts";

interface Index {
  table: string;
  columns: string[];
}

/** The schema objects of earlier migrations that rules need. */
export interface Facts {
  /** Indexes that can find a row by their leading columns, by name. */
  indexes: ReadonlyMap<string, Index>;
  /** Constraints that prove a column not null once they are valid: `table.constraint` to the column. */
  notNull: ReadonlyMap<string, { column: string; valid: boolean }>;
}

export const noFacts: Facts = { indexes: new Map(), notNull: new Map() };

/** Applies statements to the facts. */
export function learn(statements: readonly Statement[], before: Facts): Facts {
  const facts = { indexes: new Map(before.indexes), notNull: new Map(before.notNull) };
  for (const { node } of statements) {
    if ("CreateStmt" in node) learnTable(node.CreateStmt, facts);
    else if ("IndexStmt" in node) learnIndex(node.IndexStmt, facts);
    else if ("AlterTableStmt" in node) learnAlter(node.AlterTableStmt, facts);
    else if ("DropStmt" in node) {
      const { objects, removeType } = node.DropStmt;
      const names = (objects ?? []).map((object) => listWords(object).at(-1) ?? "");
      for (const name of names) {
        if (removeType === "OBJECT_INDEX") facts.indexes.delete(name);
        if (removeType === "OBJECT_TABLE") forgetTable(name, facts);
      }
    }
  }
  return facts;
}

interface Draft {
  indexes: Map<string, Index>;
  notNull: Map<string, { column: string; valid: boolean }>;
}

function learnTable(statement: CreateStmt, facts: Draft) {
  const table = statement.relation?.relname ?? "";
  const { columns, constraints } = elements(statement.tableElts);
  for (const column of columns) learnColumn(table, column, facts);
  for (const constraint of constraints) learnConstraint(table, constraint, facts);
}

function learnColumn(table: string, column: ColumnDef, facts: Draft) {
  for (const constraint of constraintsOf(column))
    learnConstraint(table, constraint, facts, column.colname);
}

function learnConstraint(table: string, constraint: Constraint, facts: Draft, column?: string) {
  const { contype } = constraint;
  const keys = column === undefined ? words(constraint.keys) : [column];
  if ((contype === "CONSTR_PRIMARY" || contype === "CONSTR_UNIQUE") && !constraint.indexname) {
    const name = contype === "CONSTR_PRIMARY" ? `${table}_pkey` : `${table}_${keys.join("_")}_key`;
    facts.indexes.set(constraint.conname ?? name, { table, columns: keys });
  }
  const proven = contype === "CONSTR_NOTNULL" ? keys[0] : notNullColumn(constraint.raw_expr);
  if (proven === undefined) return;
  const name = constraint.conname ?? `${table}_${proven}_not_null`;
  facts.notNull.set(`${table}.${name}`, {
    column: proven,
    valid: constraint.skip_validation !== true,
  });
}

function learnIndex(statement: IndexStmt, facts: Draft) {
  const table = statement.relation?.relname ?? "";
  const columns = (statement.indexParams ?? []).map((param) =>
    "IndexElem" in param ? (param.IndexElem.name ?? "") : "",
  );
  const finds = statement.accessMethod === "btree" || statement.accessMethod === "hash";
  // Such a partial index omits only nulls, which a foreign key never looks up.
  const whole =
    statement.whereClause === undefined || notNullColumn(statement.whereClause) === columns[0];
  if (finds && whole)
    facts.indexes.set(statement.idxname ?? `${table}_${columns.join("_")}_idx`, { table, columns });
}

function learnAlter(statement: AlterTableStmt, facts: Draft) {
  const table = statement.relation?.relname ?? "";
  for (const node of statement.cmds ?? []) {
    if (!("AlterTableCmd" in node)) continue;
    const { subtype, name, def } = node.AlterTableCmd;
    if (def && "ColumnDef" in def && subtype === "AT_AddColumn")
      learnColumn(table, def.ColumnDef, facts);
    if (def && "Constraint" in def) learnConstraint(table, def.Constraint, facts);
    if (subtype === "AT_ValidateConstraint") {
      const known = facts.notNull.get(`${table}.${name}`);
      if (known) facts.notNull.set(`${table}.${name}`, { ...known, valid: true });
    }
    if (subtype === "AT_DropConstraint") {
      facts.indexes.delete(name ?? "");
      facts.notNull.delete(`${table}.${name}`);
    }
  }
}

function forgetTable(table: string, facts: Draft) {
  for (const [name, index] of facts.indexes) if (index.table === table) facts.indexes.delete(name);
  for (const name of facts.notNull.keys())
    if (name.startsWith(`${table}.`)) facts.notNull.delete(name);
}
