import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { QueryNode, TermNode, WordNode } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import type { SearchRelation, SearchTable } from "./catalogue.ts";
import { resolveField, wordFields } from "./catalogue.ts";
import { conditionOf } from "./conditions.ts";
import { containsText, hasWordBeginning } from "./textSql.ts";

/** A test of one row; `row` is the alias under which its table stands in the statement. */
export type Condition = (row: SQL) => SQL;

/**
 * Turns a query's syntax tree into a condition on the rows of a table. Every value is bound, never part of the
 * SQL. `clock` is asked only where a date is relative, such as `now-7d`.
 *
 * Throws a `QuerySyntaxError` for an unknown field, a value that is not of the field's type, and an operator that
 * the type does not have.
 */
export function compileQuery(node: QueryNode, table: SearchTable, clock: () => Date): Condition {
  switch (node.kind) {
    case "and":
    case "or": {
      const children = node.children.map((child) => compileQuery(child, table, clock));
      const separator = node.kind === "and" ? " and " : " or ";
      return (row) =>
        sql.join(
          children.map((child) => sql.parens(child(row), true)),
          separator,
        );
    }
    case "not": {
      const child = compileQuery(node.child, table, clock);
      // A row whose field is null does not have the value, so it is among those without it.
      return (row) => sql`(${child(row)}) is not true`;
    }
    case "word":
      return compileWord(node, table);
    case "term":
      return compileTerm(node, table, clock);
  }
}

function compileWord(node: WordNode, table: SearchTable): Condition {
  const fields = wordFields(table);
  if (fields.length === 0) {
    const reason = "words alone search nothing here (name a field, as in `field:word`)";
    throw new QuerySyntaxError(reason, node.position, node.end - node.position);
  }
  const test = node.prefix ? hasWordBeginning : containsText;
  return (row) =>
    sql.join(
      fields.map(({ field }) => test(field.read(row), node.text)),
      " or ",
    );
}

function compileTerm(node: TermNode, table: SearchTable, clock: () => Date): Condition {
  const { relations, field, name } = resolveField(table, node.field);
  const test = conditionOf(node, field, name, clock);
  return relations.reduceRight<Condition>(
    (inner, relation) => throughRelation(relation, inner),
    (row) => test(field.read(row)),
  );
}

function throughRelation(relation: SearchRelation, inner: Condition): Condition {
  const { from, name } = relation.table();
  return (row) => {
    const related = sql.identifier(Symbol(name));
    return sql`exists (select 1 from ${from} as ${related} where ${relation.join(row, related)} and (${inner(related)}))`;
  };
}
