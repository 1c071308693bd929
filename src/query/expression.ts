import type { FieldPath, QueryNode, QuerySpan } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import { excerpt } from "./excerpt.ts";

/** An operator as written, kept so that an error can point at it. */
type Mark = { sign: string; position: number };

/** A node and the text it takes up, which for a node in parentheses includes these. */
export type Operand = QuerySpan & { node: QueryNode };

/**
 * The group that follows a field and a colon. The first thing that stands in it says whether it holds values of the field or terms
 * about the rows of a relation.
 */
export type Group = { field: FieldPath; holds: "values" | "terms" | null };

/**
 * What has been read of one level: the whole query, or what is in one pair of parentheses. Levels are
 * kept on a list instead of the call stack, so that no input can exhaust the latter.
 */
export type Level = {
  /** Offset of the opening parenthesis; null for the whole query. */
  openedAt: number | null;
  /** Where the level starts, which for a group is its field. */
  position: number;
  /** The group that it is, or is within. */
  group: Group | null;
  alternatives: Operand[];
  factors: Operand[];
  negation: Mark | null;
  /** The last operator, until its right side arrives. */
  waiting: Mark | null;
};

export function newLevel(openedAt: number | null, position: number, group: Group | null): Level {
  return {
    openedAt,
    position,
    group,
    alternatives: [],
    factors: [],
    negation: null,
    waiting: null,
  };
}

/** Notes `NOT` or `-`. Throws when one is already waiting for its operand. */
export function addNegation(level: Level, sign: string, position: number): void {
  if (level.negation !== null) {
    const reason = `${excerpt(sign)} repeats the ${excerpt(level.negation.sign)} before it`;
    throw new QuerySyntaxError(reason, position, sign.length);
  }
  level.negation = { sign, position };
  level.waiting = level.negation;
}

/** Notes `AND` or `OR`. Throws when nothing to join stands before it. */
export function addConnective(level: Level, sign: "AND" | "OR", position: number): void {
  if (level.waiting !== null) {
    const reason = `${excerpt(sign)} stands directly after ${excerpt(level.waiting.sign)}`;
    throw new QuerySyntaxError(reason, position, sign.length);
  }
  if (level.factors.length === 0) {
    throw new QuerySyntaxError(`${excerpt(sign)} has nothing before it`, position, sign.length);
  }
  level.waiting = { sign, position };
  if (sign === "OR") finishAlternative(level);
}

/** Adds a word, a term or a finished level, under the negation that waits for it if there is one. */
export function addOperand(level: Level, operand: Operand): void {
  const { negation } = level;
  if (negation === null) {
    level.factors.push(operand);
  } else {
    const { position } = negation;
    const { end } = operand;
    const node: QueryNode = { kind: "not", child: operand.node, position, end };
    level.factors.push({ node, position, end });
  }
  level.negation = null;
  level.waiting = null;
}

/** The node of a whole level, which ends at `end`. Throws when it is empty or an operator waits. */
export function finishLevel(level: Level, end: number): QueryNode {
  const { waiting, position } = level;
  if (waiting !== null) {
    const reason = `${excerpt(waiting.sign)} has nothing after it`;
    throw new QuerySyntaxError(reason, waiting.position, waiting.sign.length);
  }
  if (level.factors.length === 0) {
    throw new QuerySyntaxError("the parentheses are empty", position, end - position);
  }
  finishAlternative(level);
  return join("or", level.alternatives).node;
}

function finishAlternative(level: Level): void {
  level.alternatives.push(join("and", level.factors));
  level.factors = [];
}

function join(kind: "and" | "or", operands: readonly Operand[]): Operand {
  const first = operands[0];
  const last = operands.at(-1);
  if (first === undefined || last === undefined) throw new Error("nothing to join");
  if (first === last) return first;
  const { position } = first;
  const { end } = last;
  const children = operands.map((operand) => operand.node);
  return { node: { kind, children, position, end }, position, end };
}
