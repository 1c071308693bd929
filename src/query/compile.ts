import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { QueryNode, RelatedNode, TermNode, WordNode } from "./ast.ts";
import { type Bind, bindValue } from "./bind.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import type { SearchRelation, SearchTable } from "./catalogue.ts";
import { resolveField, resolveRelation, wordFields } from "./catalogue.ts";
import { conditionOf, conditionWithin } from "./conditions.ts";
import { rejectOperatorCharacters } from "./rejectOperatorCharacters.ts";
import {
  containsText,
  hasWordBeginning,
  isTooShortWithin,
  wordsContain,
  wordsHaveWordBeginning,
} from "./textSql.ts";

/** A test of one row; `row` is the alias under which its table stands in the statement. Values are parameters unless `bind` is given. */
export type Condition = (row: SQL, bind?: Bind) => SQL;
type BoundCondition = (row: SQL, bind: Bind) => SQL;

/**
 * Turns a query's syntax tree into a condition on the rows of a table. Every value is bound, never part of the
 * SQL. `clock` is asked only where a date is relative, such as `now-7d`.
 *
 * Throws a `QuerySyntaxError` for an unknown field, a value that is not of the field's type, an operator that the type does not
 * have, and a text of signs that no index finds.
 */
export function compileQuery(node: QueryNode, table: SearchTable, clock: () => Date): Condition {
  const condition = compileNode(node, { table, clock, crossed: 0 });
  rejectOperatorCharacters(node, table);
  return (row, bind = bindValue) => condition(row, bind);
}

/** What a node is about: rows of a table, some relations away from those that the query finds. */
type Place = { table: SearchTable; clock: () => Date; crossed: number };

function compileNode(node: QueryNode, place: Place): BoundCondition {
  switch (node.kind) {
    case "and":
    case "or": {
      const children = node.children.map((child) => compileNode(child, place));
      const separator = node.kind === "and" ? " and " : " or ";
      return (row, bind) =>
        sql.join(
          children.map((child) => sql.parens(child(row, bind), true)),
          separator,
        );
    }
    case "not": {
      const child = compileNode(node.child, place);
      // A row whose field is null does not have the value, so it is among those without it.
      return (row, bind) => sql`(${child(row, bind)}) is not true`;
    }
    case "word":
      return compileWord(node, place.table);
    case "term":
      return compileTerm(node, place);
    case "related":
      return compileRelated(node, place);
  }
}

function compileWord(node: WordNode, table: SearchTable): BoundCondition {
  const fields = wordFields(table);
  if (fields.length === 0) {
    const reason = "words alone search nothing here (name a field, as in `field:word`)";
    throw new QuerySyntaxError(reason, node.position, node.end - node.position);
  }
  const begins = node.prefix || isTooShortWithin(node.text);
  const { words } = table;
  if (words) {
    const test = begins ? wordsHaveWordBeginning : wordsContain;
    return (row, bind) => test(words(row), node.text, bind);
  }
  const test = begins ? hasWordBeginning : containsText;
  return (row, bind) =>
    sql.join(
      fields.map(({ field }) => test(field.read(row), node.text, bind)),
      " or ",
    );
}

function compileTerm(node: TermNode, { table, clock, crossed }: Place): BoundCondition {
  const { relations, field, name } = resolveField(table, node.field, crossed);
  const test = conditionOf(node, field, name, clock);
  const { within } = field;
  const hint = within && conditionWithin(node);
  return throughRelations(relations, (row, bind) => {
    const condition = test(field.read(row), bind);
    return hint ? sql`(${hint(within(row), bind)}) and (${condition})` : condition;
  });
}

function compileRelated({ relation, child }: RelatedNode, place: Place): BoundCondition {
  const { relations, table } = resolveRelation(place.table, relation, place.crossed);
  const crossed = place.crossed + relations.length;
  return throughRelations(relations, compileNode(child, { ...place, table, crossed }));
}

function throughRelations(
  relations: readonly SearchRelation[],
  inner: BoundCondition,
): BoundCondition {
  return relations.reduceRight((test, relation) => throughRelation(relation, test), inner);
}

function throughRelation(relation: SearchRelation, inner: BoundCondition): BoundCondition {
  const { from, name } = relation.table();
  return (row, bind) => {
    const related = sql.identifier(Symbol(name));
    return sql`exists (select 1 from ${from} as ${related} where ${relation.join(row, related)} and (${inner(related, bind)}))`;
  };
}
