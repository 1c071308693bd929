/** Limits of a query; a query beyond one is rejected, never cut. */
export type QueryLimits = {
  /** UTF-16 code units of the whole text. */
  maxLength: number;
  /** Nesting: open parentheses, field groups and negations at any one place. */
  maxDepth: number;
  /** Words and terms; an `IN` list counts as one. */
  maxTerms: number;
  /** Values of one `IN` list. */
  maxListValues: number;
};

const DEFAULT_QUERY_LIMITS: QueryLimits = {
  maxLength: 4000,
  maxDepth: 20,
  maxTerms: 100,
  maxListValues: 1000,
};

/** Fills missing limits with defaults; undefined never disables a limit. */
export function withDefaultLimits(limits: Partial<QueryLimits>): QueryLimits {
  return {
    maxLength: limits.maxLength ?? DEFAULT_QUERY_LIMITS.maxLength,
    maxDepth: limits.maxDepth ?? DEFAULT_QUERY_LIMITS.maxDepth,
    maxTerms: limits.maxTerms ?? DEFAULT_QUERY_LIMITS.maxTerms,
    maxListValues: limits.maxListValues ?? DEFAULT_QUERY_LIMITS.maxListValues,
  };
}
