/** A range of the query text: 0-based UTF-16 offsets, `end` exclusive. */
export type QuerySpan = { position: number; end: number };

/**
 * A value as written, not yet parsed as a number or date. `text` has its escapes resolved and no quotes; the span
 * covers the source, quotes included, without a trailing `*`.
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
 * In a group of values, `field:(a OR b)`, each value is a term; its span covers the value, and `field` points at the
 * field before the group.
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
 * `relation:(a:1 b:2)`: a related row exists for which the whole group holds. The fields are those of the related
 * table; words without a field are not allowed.
 */
export type RelatedNode = QuerySpan & { kind: "related"; relation: FieldPath; child: QueryNode };

export type QueryNode = AndNode | OrNode | NotNode | WordNode | TermNode | RelatedNode;
