import fc from "fast-check";
import type { FieldPath, QueryNode, QueryValue } from "../../../src/query/ast.ts";

const SPAN = { position: 0, end: 0 };

/** A copy of a tree without its positions, for comparison. */
export function withoutPositions(node: QueryNode): unknown {
  const text = JSON.stringify(node, (key, value: unknown) =>
    key === "position" || key === "end" ? undefined : value,
  );
  return JSON.parse(text);
}

const KEYWORDS = ["AND", "OR", "NOT", "TO", "IN"];

const character = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...Array.from("aZé日9😀\u0301")) },
  { weight: 2, arbitrary: fc.constantFrom(...Array.from("\\()\"[]{}*:<>=,-+. &|!~^#/'_")) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }) },
);

const anyText = fc
  .oneof(
    fc.string({ unit: character, minLength: 1, maxLength: 6 }),
    fc.constantFrom(...KEYWORDS, "IN(", "now-7d", "2026-01-31T12:00:00Z", "-5", ">=", "\\"),
  )
  .filter((text) => !/[[\p{Cc}\p{Cs}]--[\t\n\r]]/v.test(text));

const filledText = anyText.filter((text) => text.trim() !== "");

/** Text that needs no quotes. */
function bare(prefix: boolean) {
  return anyText.filter((text) => !/[^\S ]/.test(text) && (prefix || !KEYWORDS.includes(text)));
}

function value(prefix = false): fc.Arbitrary<QueryValue> {
  const quoted = prefix ? filledText : fc.oneof(anyText, fc.constant(""), fc.constant("\t\n"));
  const unquoted = bare(prefix).filter((text) => !prefix || text.trim() !== "");
  return fc.oneof(
    quoted.map((text) => ({ text, quoted: true, ...SPAN })),
    unquoted.map((text) => ({ text, quoted: false, ...SPAN })),
  );
}

const field: fc.Arbitrary<FieldPath> = fc
  .array(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,4}$/), { minLength: 1, maxLength: 3 })
  .map((path) => ({ path, ...SPAN }));

const word: fc.Arbitrary<QueryNode> = fc.boolean().chain((prefix) =>
  fc.oneof(
    filledText.map((text) => ({ kind: "word", text, phrase: true, prefix, ...SPAN }) as const),
    bare(prefix).map((text) => ({ kind: "word", text, phrase: false, prefix, ...SPAN }) as const),
  ),
);

const condition = fc.oneof(
  fc
    .record({
      operator: fc.constantFrom("eq" as const, "gt" as const, "gte" as const),
      value: value(),
    })
    .map(({ operator, value }) => ({ operator, values: [value] as const })),
  fc
    .record({ operator: fc.constantFrom("lt" as const, "lte" as const), value: value() })
    .map(({ operator, value }) => ({ operator, values: [value] as const })),
  value(true).map((value) => ({ operator: "prefix" as const, values: [value] as const })),
  fc.constant({ operator: "exists" as const, values: [] as const }),
  fc
    .array(value(), { minLength: 1, maxLength: 4 })
    .map((values) => ({ operator: "in" as const, values })),
  fc
    .record({
      values: fc.oneof(
        fc.tuple(value(), value()),
        fc.tuple(fc.constant(null), value()),
        fc.tuple(value(), fc.constant(null)),
      ),
      inclusive: fc.tuple(fc.boolean(), fc.boolean()),
    })
    .map(({ values, inclusive }) => ({
      operator: "range" as const,
      values,
      inclusive: [values[0] === null || inclusive[0], values[1] === null || inclusive[1]] as const,
    })),
);

const term: fc.Arbitrary<QueryNode> = fc
  .tuple(field, condition)
  .map(([field, rest]) => ({ kind: "term", field, ...rest, ...SPAN }));

type Nodes = { node: QueryNode; within: QueryNode };

/** Conjunctions, disjunctions and negations of a kind of node, and groups of related rows, which contain no words. */
function nested(tie: fc.LetrecTypedTie<Nodes>, kind: keyof Nodes): fc.Arbitrary<QueryNode>[] {
  return [
    tie(kind).map((child) => ({ kind: "not" as const, child, ...SPAN })),
    fc
      .record({
        kind: fc.constantFrom("and" as const, "or" as const),
        children: fc.array(tie(kind), { minLength: 2, maxLength: 4 }),
      })
      .map((joined) => ({ ...joined, ...SPAN })),
    fc
      .record({ kind: fc.constant("related" as const), relation: field, child: tie("within") })
      .map((related) => ({ ...related, ...SPAN })),
  ];
}

/** Any tree that the parser can return. */
export const queryTree: fc.Arbitrary<QueryNode> = fc.letrec<Nodes>((tie) => ({
  node: fc.oneof({ maxDepth: 5, depthSize: "small" }, word, term, ...nested(tie, "node")),
  within: fc.oneof({ maxDepth: 5, depthSize: "small" }, term, ...nested(tie, "within")),
})).node;
