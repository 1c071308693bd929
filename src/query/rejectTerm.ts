import type { TermNode } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";

/** Throws the refusal of a term, which points at the whole of it. */
export function rejectTerm({ position, end }: TermNode, reason: string): never {
  throw new QuerySyntaxError(reason, position, end - position);
}

/** Throws the refusal of a range whose end lies before its start. */
export function rejectReversedRange(term: TermNode): never {
  return rejectTerm(term, "the range ends before it starts");
}
