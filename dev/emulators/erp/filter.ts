import { ApiProblem } from "./problem.ts";
import type { Json } from "./table.ts";

type Operator = "eq" | "ne" | "lt" | "le" | "gt" | "ge";

export interface Comparison {
  field: string;
  operator: Operator;
  value: string | number | boolean;
}

export type Filter =
  | { and: Filter[] }
  /** All parts compare the same field, as Business Central requires. */
  | { or: Filter[] }
  | Comparison;

const tokenPattern = /\s*(?:(?<punctuation>[()])|(?<text>'(?:[^']|'')*')|(?<word>[^\s()',]+))/y;

/**
 * Parses the part of OData's filters that the service uses: comparisons with `and`, `or` and parentheses.
 * @throws ApiProblem for any other syntax
 */
export function parseFilter(source: string): Filter {
  const tokens = tokenise(source);
  let place = 0;
  const next = () => tokens[place++] ?? "";
  const peek = () => tokens[place] ?? "";

  const unit = (): Filter => {
    if (peek() === "(") {
      next();
      const inner = alternatives();
      if (next() !== ")") throw syntaxProblem(source);
      return inner;
    }
    const field = next();
    const operator = next();
    const literal = next();
    if (!/^[A-Za-z]\w*$/.test(field) || !/^(eq|ne|lt|le|gt|ge)$/.test(operator))
      throw syntaxProblem(source);
    return { field, operator: operator as Operator, value: literalValue(literal, source) };
  };
  const conjunction = (): Filter => {
    const parts = [unit()];
    while (peek() === "and") {
      next();
      parts.push(unit());
    }
    return parts.length === 1 && parts[0] ? parts[0] : { and: parts };
  };
  const alternatives = (): Filter => {
    const parts = [conjunction()];
    while (peek() === "or") {
      next();
      parts.push(conjunction());
    }
    if (parts.length === 1 && parts[0]) return parts[0];
    if (new Set(parts.flatMap(fieldsOf)).size > 1)
      throw new ApiProblem(
        400,
        "BadRequest_MethodNotImplemented",
        "The 'OR' operator is not supported on distinct fields on an OData filter.",
      );
    return { or: parts };
  };

  const filter = alternatives();
  if (place < tokens.length) throw syntaxProblem(source);
  return filter;
}

export function fieldsOf(filter: Filter): string[] {
  if ("and" in filter) return filter.and.flatMap(fieldsOf);
  return "or" in filter ? filter.or.flatMap(fieldsOf) : [filter.field];
}

/** The comparisons that every match must satisfy. */
export function requiredComparisons(filter: Filter): Comparison[] {
  if ("and" in filter) return filter.and.flatMap(requiredComparisons);
  return "or" in filter ? [] : [filter];
}

/** Whether a record matches the filter. */
export function matchesFilter(filter: Filter, valueOf: (field: string) => Json): boolean {
  if ("and" in filter) return filter.and.every((part) => matchesFilter(part, valueOf));
  if ("or" in filter) return filter.or.some((part) => matchesFilter(part, valueOf));
  const order = compareValues(valueOf(filter.field), filter.value);
  switch (filter.operator) {
    case "eq":
      return order === 0;
    case "ne":
      return order !== 0;
    case "lt":
      return order < 0;
    case "le":
      return order <= 0;
    case "gt":
      return order > 0;
    case "ge":
      return order >= 0;
  }
}

const instantPattern = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;

/** Compares times by instant, and codes without case, as Business Central does. */
export function compareValues(a: Json, b: Json): number {
  if (typeof a === "string" && typeof b === "string") {
    if (instantPattern.test(a) && instantPattern.test(b)) return Date.parse(a) - Date.parse(b);
    const [left, right] = [a.toUpperCase(), b.toUpperCase()];
    return left < right ? -1 : Number(left > right);
  }
  return Number(a) - Number(b);
}

function tokenise(source: string): string[] {
  const tokens: string[] = [];
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < source.trimEnd().length) {
    const match = tokenPattern.exec(source);
    if (match === null) throw syntaxProblem(source);
    tokens.push(match[0].trimStart());
  }
  return tokens;
}

function literalValue(literal: string, source: string): string | number | boolean {
  if (literal.startsWith("'")) return literal.slice(1, -1).replaceAll("''", "'");
  if (literal === "true" || literal === "false") return literal === "true";
  if (/^-?\d+(\.\d+)?$/.test(literal)) return Number(literal);
  if (instantPattern.test(literal) || /^\d{4}-\d\d-\d\d$/.test(literal)) return literal;
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(literal)) return literal;
  throw syntaxProblem(source);
}

function syntaxProblem(source: string): ApiProblem {
  return new ApiProblem(
    400,
    "BadRequest_InvalidRequestUrl",
    `Syntax error in the filter '${source.slice(0, 100)}'.`,
  );
}
