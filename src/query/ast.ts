/** A stretch of the query text: 0-based UTF-16 offsets, `end` exclusive. */
export type QuerySpan = { position: number; end: number };

/**
 * A value as written, not yet read as a number, date or the like. `text` has its escapes resolved and
 * carries no quotes; the span covers what was written, quotes included, without a trailing `*`.
 */
export type QueryValue = QuerySpan & { text: string; quoted: boolean };

/** A field, or a field of a related table: `wineType.name` is `["wineType", "name"]`. */
export type FieldPath = QuerySpan & { path: readonly string[] };

/** All children hold. Two or more children. */
export type AndNode = QuerySpan & { kind: "and"; children: readonly QueryNode[] };

/** At least one child holds. Two or more children. */
export type OrNode = QuerySpan & { kind: "or"; children: readonly QueryNode[] };

export type NotNode = QuerySpan & { kind: "not"; child: QueryNode };

/** Text without a field, searched in the default text fields. `phrase`: it was quoted. */
export type WordNode = QuerySpan & {
  kind: "word";
  text: string;
  phrase: boolean;
  prefix: boolean;
};

/**
 * In a group of values, `field:(a OR b)`, each value becomes a term of its own; its span then covers the
 * value alone, and `field` points at the one field before the group.
 */
type TermBase = QuerySpan & { kind: "term"; field: FieldPath };

/** `field:a`, `field:a*`, `field:>a`, `field:>=a`, `field:<a`, `field:<=a`. */
export type ComparisonTerm = TermBase & {
  operator: "eq" | "prefix" | "gt" | "gte" | "lt" | "lte";
  values: readonly [QueryValue];
};

/** `field:*`: the field is set. */
export type ExistsTerm = TermBase & { operator: "exists"; values: readonly [] };

/** `field:IN(a, b)`: one of one or more values. */
export type InTerm = TermBase & { operator: "in"; values: readonly QueryValue[] };

/**
 * `field:[a TO b]`. An open end (`*`) is null and counts as inclusive; at most one end is open.
 * Both pairs are lower, then upper.
 */
export type RangeTerm = TermBase & {
  operator: "range";
  values: readonly [QueryValue | null, QueryValue | null];
  inclusive: readonly [boolean, boolean];
};

export type TermNode = ComparisonTerm | ExistsTerm | InTerm | RangeTerm;

/**
 * `relation:(a:1 b:2)`: there is a related row for which all of the group holds. The fields within are those of the related table,
 * and no words without a field stand there.
 */
export type RelatedNode = QuerySpan & { kind: "related"; relation: FieldPath; child: QueryNode };

export type QueryNode = AndNode | OrNode | NotNode | WordNode | TermNode | RelatedNode;
