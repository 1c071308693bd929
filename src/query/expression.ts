import type { FieldPath, QueryNode, QuerySpan } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import { excerpt } from "./excerpt.ts";

/** An operator with its position, for errors. */
type Mark = { sign: string; position: number };

/** A node and its span, parentheses included. */
export type Operand = QuerySpan & { node: QueryNode };

/** The group after `field:`. Its first item decides whether it holds values of a field or terms about related rows. */
export type Group = { field: FieldPath; holds: "values" | "terms" | null };

/**
 * The state of one level: the whole query or one pair of parentheses. A list of levels replaces recursion, so that no
 * input exhausts the stack.
 */
export type Level = {
  /** Offset of the opening parenthesis; null for the whole query. */
  openedAt: number | null;
  /** The start of the level; for a group that of its field. */
  position: number;
  /** The group of this level or of one around it. */
  group: Group | null;
  alternatives: Operand[];
  factors: Operand[];
  negation: Mark | null;
  /** The last operator, until its right operand arrives. */
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

/** Notes `AND` or `OR`. Throws when it has no left operand. */
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
