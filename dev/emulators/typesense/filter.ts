import { type Accept, type FilterContext, compileClause } from "./filterClause.ts";
import { EngineProblem } from "./problem.ts";

const maxOperations = 100;
const everything: Accept = () => true;

/**
 * Parses Typesense's `filter_by`. As there, `&&` and `||` have the same precedence and associate to the left.
 * @throws EngineProblem naming the error
 */
export function parseFilter(text: string, context: FilterContext): Accept {
  if (text.trim() === "") return everything;
  const parts = split(text);
  if (parts.filter(({ kind }) => kind !== "(" && kind !== ")").length > maxOperations)
    throw new EngineProblem(
      400,
      `\`filter_by\` has too many operations. Maximum allowed: ${maxOperations}`,
    );
  return combine(parts, context);
}

type Part = { kind: "condition"; text: string } | { kind: "&&" | "||" | "(" | ")" };

/** Splits a filter into conditions, operators and parentheses. */
function split(text: string): Part[] {
  const parts: Part[] = [];
  let position = 0;
  while (position < text.length) {
    const two = text.slice(position, position + 2);
    const one = text.charAt(position);
    if (one.trim() === "") position++;
    else if (two === "&&" || two === "||") {
      parts.push({ kind: two });
      position += 2;
    } else if (one === "(" || one === ")") {
      parts.push({ kind: one });
      position++;
    } else {
      const end = endOfCondition(text, position);
      parts.push({ kind: "condition", text: text.slice(position, end).trim() });
      position = end;
    }
  }
  return parts;
}

/**
 * A condition ends before an operator or a parenthesis outside backticks; an unclosed backtick extends to the end
 * of the text. A value that begins with a parenthesis contains the next closing one.
 */
function endOfCondition(text: string, start: number): number {
  let position = start;
  let letter = text.charAt(position);
  let quoted = false;
  let afterColon = false;
  let inParentheses = false;
  do {
    if (letter === ":") afterColon = true;
    if (letter === ")") inParentheses = false;
    letter = text.charAt(++position);
    if (letter === "`") quoted = !quoted;
    if (afterColon && letter === "(") inParentheses = true;
    if (letter !== " ") afterColon = false;
  } while (position < text.length && (quoted || inParentheses || !endsCondition(text, position)));
  return position;
}

function endsCondition(text: string, position: number): boolean {
  const two = text.slice(position, position + 2);
  return two.startsWith("(") || two.startsWith(")") || two === "&&" || two === "||";
}

interface Group {
  left: Accept | null;
  operator: "&&" | "||" | null;
}

/** Keeps the open groups on a stack instead of recursing, so that nesting cannot overflow the call stack. */
function combine(parts: readonly Part[], context: FilterContext): Accept {
  const unbalanced = () =>
    new EngineProblem(400, "Could not parse the filter query: unbalanced parentheses.");
  const outer: Group[] = [];
  let group: Group = { left: null, operator: null };
  const take = (right: Accept) => {
    const { left, operator } = group;
    if (left === null) group.left = right;
    else if (operator === null) throw new EngineProblem(400, "Could not parse the filter query.");
    else group.left = join(left, operator, right);
    group.operator = null;
  };
  for (const part of parts) {
    switch (part.kind) {
      case "condition":
        take(compileClause(part.text, context));
        break;
      case "(":
        outer.push(group);
        group = { left: null, operator: null };
        break;
      case ")": {
        const inner = finish(group);
        const next = outer.pop();
        if (next === undefined) throw unbalanced();
        group = next;
        take(inner);
        break;
      }
      default:
        if (group.left === null || group.operator !== null) throw unbalancedOperator(part.kind);
        group.operator = part.kind;
    }
  }
  if (outer.length > 0) throw unbalanced();
  return finish(group);
}

function join(left: Accept, operator: "&&" | "||", right: Accept): Accept {
  return operator === "&&"
    ? (stored) => left(stored) && right(stored)
    : (stored) => left(stored) || right(stored);
}

function finish({ left, operator }: Group): Accept {
  if (operator !== null) throw unbalancedOperator(operator);
  if (left === null) throw new EngineProblem(400, "Could not parse the filter query.");
  return left;
}

function unbalancedOperator(operator: string): EngineProblem {
  return new EngineProblem(
    400,
    `Could not parse the filter query: unbalanced \`${operator}\` operands.`,
  );
}
