import type { TermNode } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";

/** Throws an error with the span of the term. */
export function rejectTerm({ position, end }: TermNode, reason: string): never {
  throw new QuerySyntaxError(reason, position, end - position);
}

/** Throws the error for a range that ends before it starts. */
export function rejectReversedRange(term: TermNode): never {
  return rejectTerm(term, "the range ends before it starts");
}
