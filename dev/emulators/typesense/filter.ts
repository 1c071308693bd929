import { type Accept, type FilterContext, compileClause } from "./filterClause.ts";
import { EngineProblem } from "./problem.ts";

const mostConditions = 100;
const everything: Accept = () => true;

/**
 * Reads Typesense's `filter_by`. As there, `&&` and `||` bind equally and from the left; parentheses group.
 * @throws EngineProblem saying what cannot be understood
 */
export function parseFilter(text: string, context: FilterContext): Accept {
  if (text.trim() === "") return everything;
  const parts = split(text);
  if (parts.filter((part) => part.kind === "condition").length > mostConditions)
    throw new EngineProblem(
      400,
      `\`filter_by\` has too many operations. Maximum allowed: ${mostConditions}`,
    );
  return combine(parts, context);
}

type Part = { kind: "condition"; text: string } | { kind: "&&" | "||" | "(" | ")" };

/** Cuts a filter into conditions, operators and parentheses. */
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

/** A condition ends before an operator or the parenthesis that closes its group; what backticks, brackets and its own parentheses hold is its own. */
function endOfCondition(text: string, start: number): number {
  let quoted = false;
  let depth = 0;
  for (let position = start; position < text.length; position++) {
    const letter = text.charAt(position);
    if (letter === "`") quoted = !quoted;
    if (quoted) continue;
    if (letter === "[" || letter === "(") depth++;
    else if (letter === "]") depth = Math.max(0, depth - 1);
    else if (letter === ")" && depth-- === 0) return position;
    const two = text.slice(position, position + 2);
    if (depth === 0 && (two === "&&" || two === "||")) return position;
  }
  return text.length;
}

interface Group {
  left: Accept | null;
  operator: "&&" | "||" | null;
}

/** Goes from left to right with the open groups on a stack, so that no nesting is too deep. */
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
