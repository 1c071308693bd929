import type { QueryNode, QueryValue, TermNode, WordNode } from "../../../src/query/ast.ts";
import { isKeyword } from "../../../src/query/tokens.ts";

const SIGNS = { eq: "", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** Characters that need a backslash in unquoted text, by context. */
const SPECIAL = {
  word: /[\\()"[\]{}*:<>= ]|^-/g,
  value: /[\\()"[\]{}* ]|^[<>=]/g,
  listed: /[\\()"[\]{}*, ]|^[<>=]/g,
} as const;

/**
 * Prints a syntax tree as a query. Parsing it returns the same tree, except for positions.
 * The tree must be one that the parser can return: two or more children, no empty unquoted text.
 */
export function printQuery(node: QueryNode): string {
  const parts: string[] = [];
  // An explicit stack, last item first: recursion would overflow on a deep tree.
  const rest: (QueryNode | string)[] = [node];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next === "string") parts.push(next);
    else if (next.kind === "word") parts.push(printWord(next));
    else if (next.kind === "term") parts.push(printTerm(next));
    else for (const piece of pieces(next).reverse()) rest.push(piece);
  }
  return parts.join("");
}

function pieces(
  node: Extract<QueryNode, { kind: "and" | "or" | "not" | "related" }>,
): (QueryNode | string)[] {
  if (node.kind === "related") return [`${node.relation.path.join(".")}:(`, node.child, ")"];
  if (node.kind === "not") return ["NOT ", ...wrapped(node.child, "not")];
  const separator = node.kind === "and" ? " AND " : " OR ";
  return node.children.flatMap((child, index) => [
    ...(index === 0 ? [] : [separator]),
    ...wrapped(child, node.kind),
  ]);
}

function wrapped(child: QueryNode, parent: "and" | "or" | "not"): (QueryNode | string)[] {
  const loose =
    child.kind === "or" ||
    (child.kind === "and" && parent !== "or") ||
    (child.kind === "not" && parent === "not");
  return loose ? ["(", child, ")"] : [child];
}

function printWord({ text, phrase, prefix }: WordNode): string {
  const bare = phrase ? null : bareText(text, SPECIAL.word, prefix);
  return `${bare ?? quotedText(text)}${prefix ? "*" : ""}`;
}

function printTerm(term: TermNode): string {
  const field = `${term.field.path.join(".")}:`;
  switch (term.operator) {
    case "exists":
      return `${field}*`;
    case "in":
      return `${field}IN(${term.values.map((value) => printValue(value, SPECIAL.listed)).join(", ")})`;
    case "range": {
      const [lower, upper] = term.values;
      const [fromIncluded, toIncluded] = term.inclusive;
      const from = lower === null ? "*" : printValue(lower);
      const to = upper === null ? "*" : printValue(upper);
      return `${field}${fromIncluded ? "[" : "{"}${from} TO ${to}${toIncluded ? "]" : "}"}`;
    }
    case "prefix":
      return `${field}${printValue(term.values[0], SPECIAL.value, true)}*`;
    default:
      return `${field}${SIGNS[term.operator]}${printValue(term.values[0])}`;
  }
}

function printValue(value: QueryValue, special: RegExp = SPECIAL.value, prefix = false): string {
  const bare = value.quoted ? null : bareText(value.text, special, prefix);
  return bare ?? quotedText(value.text);
}

/** The text with escaped special characters; null if it needs quotes. */
function bareText(text: string, special: RegExp, prefix: boolean): string | null {
  const needsQuotes = text === "" || /[^\S ]/.test(text) || (isKeyword(text) && !prefix);
  return needsQuotes ? null : text.replace(special, "\\$&");
}

function quotedText(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
