import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { AndNode, OrNode, QueryNode, RelatedNode, TermNode, WordNode } from "./ast.ts";
import { type Bind, bindValue } from "./bind.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import type { SearchRelation, SearchTable } from "./searchTable.ts";
import { resolveField, resolveRelation, wordFields } from "./searchTable.ts";
import { conditionOf, conditionWithin } from "./conditions.ts";
import type { Clock } from "./timeSql.ts";
import { rejectOperatorCharacters } from "./rejectOperatorCharacters.ts";
import {
  containsText,
  hasWordBeginning,
  isTooShortWithin,
  wordsContain,
  wordsHaveWordBeginning,
} from "./textSql.ts";

/** The condition of a row with the alias `row`. Values are parameters unless `bind` is given. */
export type Condition = (row: SQL, bind?: Bind) => SQL;
type BoundCondition = (row: SQL, bind: Bind) => SQL;

/**
 * Compiles the syntax tree of a query to a condition on the rows of a table. Values are bound, never spliced. `clock`
 * is called for relative dates such as `now-7d` only.
 *
 * Throws a `QuerySyntaxError` for an unknown field, a value of the wrong type, an operator that the type lacks, and a
 * text of signs that no index finds.
 */
export function compileQuery(node: QueryNode, table: SearchTable, clock: Clock): Condition {
  const condition = compileNode(node, { table, clock, crossed: 0, beginnings: new Set() });
  rejectOperatorCharacters(node, table);
  return (row, bind = bindValue) => condition(row, bind);
}

/** The table of a node, and the number of relations crossed. */
type Place = {
  table: SearchTable;
  clock: Clock;
  crossed: number;
  /** The regular expressions of the query so far. */
  beginnings: Set<string>;
};

/** Fewer than the 32 regular expressions that PostgreSQL caches, since policies and functions have some too. */
const maxPrefixes = 24;

function compileNode(node: QueryNode, place: Place): BoundCondition {
  switch (node.kind) {
    case "and":
    case "or": {
      const children = compileChildren(node, place);
      const separator = node.kind === "and" ? " and " : " or ";
      return (row, bind) =>
        sql.join(
          children.map((child) => sql.parens(child(row, bind), true)),
          separator,
        );
    }
    case "not":
      return negate(compileNode(node.child, place));
    case "word":
      return compileWords([node], place);
    case "term":
      return compileTerm(node, place);
    case "related":
      return compileRelated(node, place);
  }
}

/** Joins beginnings of words that are alternatives, or all excluded, into one condition. */
function compileChildren(node: AndNode | OrNode, place: Place): BoundCondition[] {
  const beginnings: WordNode[] = [];
  const others: BoundCondition[] = [];
  for (const child of node.children) {
    const word = node.kind === "or" ? child : child.kind === "not" ? child.child : null;
    if (word?.kind === "word" && isBeginning(word)) beginnings.push(word);
    else others.push(compileNode(child, place));
  }
  const [first, ...rest] = beginnings;
  if (!first) return others;
  const condition = compileWords([first, ...rest], place);
  return [...others, node.kind === "or" ? condition : negate(condition)];
}

/** A row whose field is null lacks the value, so it matches the negation. */
function negate(condition: BoundCondition): BoundCondition {
  return (row, bind) => sql`(${condition(row, bind)}) is not true`;
}

function isBeginning({ prefix, text }: WordNode): boolean {
  return prefix || isTooShortWithin(text);
}

/** A word, or several alternative beginnings of words. */
function compileWords(nodes: readonly [WordNode, ...WordNode[]], place: Place): BoundCondition {
  const { words } = place.table;
  const fields = wordFields(place.table);
  const [node] = nodes;
  if (fields.length === 0) {
    const reason = "words alone search nothing here (name a field, as in `field:word`)";
    throw new QuerySyntaxError(reason, node.position, node.end - node.position);
  }
  const texts = nodes.map(({ text }) => text);
  const begins = isBeginning(node);
  if (begins) countBeginning(node, texts, place);
  const test = (column: SQL, isWords: boolean, bind: Bind) => {
    if (begins) return (isWords ? wordsHaveWordBeginning : hasWordBeginning)(column, texts, bind);
    return (isWords ? wordsContain : containsText)(column, node.text, bind);
  };
  if (words) return (row, bind) => test(words(row), true, bind);
  return (row, bind) =>
    sql.join(
      fields.map(({ field }) => test(field.read(row), false, bind)),
      " or ",
    );
}

function countBeginning(node: WordNode, texts: readonly string[], { beginnings }: Place): void {
  beginnings.add(JSON.stringify(texts));
  if (beginnings.size <= maxPrefixes) return;
  const reason = `a query has at most ${maxPrefixes} conditions on beginnings of words, such as \`ab\` and \`abc*\` (alternatives joined by \`OR\` are one)`;
  throw new QuerySyntaxError(reason, node.position, node.end - node.position);
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
  const { through } = relation;
  return (row, bind) => {
    const related = sql.identifier(Symbol(name));
    if (through) {
      const joined = sql.identifier(Symbol(through.name));
      return sql`exists (select 1 from ${through.from} as ${joined}, ${from} as ${related} where ${through.join(row, joined)} and ${relation.join(joined, related)} and (${inner(related, bind)}))`;
    }
    return sql`exists (select 1 from ${from} as ${related} where ${relation.join(row, related)} and (${inner(related, bind)}))`;
  };
}
