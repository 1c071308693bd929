import fc from "fast-check";
import type { FieldPath, QueryNode, QueryValue } from "../../../src/query/ast.ts";

const SPAN = { position: 0, end: 0 };
const path = (name: string): FieldPath => ({ path: name.split("."), ...SPAN });
const written = (text: string): QueryValue => ({ text, quoted: true, ...SPAN });

/** Values of rows, and near misses. */
const texts = ["Rød", "rod", "Hvid", "Barolo", "BAROLO", "Château Nord", "nord", "bar", "é", "b"];
const numbers = ["-1", "0", "1", "80", "80.5", "90", "2014", "2015", "2016", "100"];
const times = ["2026", "2026-01", "2026-01-31", "2026-02-03T12:00Z", "now-7d", "now", "today"];

/** The searched fields with their properties and values. */
const fields = {
  erpProductNumber: { ordered: false, values: ["w1", "w10", "W1", "w2"], prefix: true },
  name: { ordered: false, values: texts, prefix: true },
  producer: { ordered: false, values: texts, prefix: true },
  vintage: { ordered: true, values: ["0", "2014", "2015", "2016"], prefix: false },
  alcoholPercent: { ordered: true, values: ["12", "12.50", "13.1", "0"], prefix: false },
  isActive: { ordered: false, values: ["true", "false"], prefix: false },
  createdAt: { ordered: true, values: times, prefix: false },
  "wineType.name": { ordered: false, values: texts, prefix: true },
  "ratings.points": { ordered: true, values: numbers, prefix: false },
  "ratings.year": { ordered: true, values: ["2014", "2015", "2016"], prefix: false },
  "ratings.reviewer.name": { ordered: false, values: texts, prefix: true },
  "campaigns.status": {
    ordered: false,
    values: ["DRAFT", "SCHEDULED", "CANCELLED"],
    prefix: false,
  },
} as const;
type Name = keyof typeof fields;
const names = Object.keys(fields) as Name[];

function termOf(name: Name, shown: string): fc.Arbitrary<QueryNode> {
  const { ordered, values, prefix } = fields[name];
  const base = { kind: "term" as const, field: path(shown), ...SPAN };
  const value = fc.constantFrom(...values).map(written);
  const operators = [
    value.map((one) => ({ ...base, operator: "eq" as const, values: [one] as const })),
    fc.constant({ ...base, operator: "exists" as const, values: [] as const }),
    fc
      .array(value, { minLength: 1, maxLength: 3 })
      .map((all) => ({ ...base, operator: "in" as const, values: all })),
    ...(prefix
      ? [value.map((one) => ({ ...base, operator: "prefix" as const, values: [one] as const }))]
      : []),
    ...(ordered
      ? [
          fc
            .tuple(
              fc.constantFrom("gt" as const, "gte" as const, "lt" as const, "lte" as const),
              value,
            )
            .map(([operator, one]) => ({ ...base, operator, values: [one] as const })),
          fc
            .record({
              values: fc.oneof(
                fc.tuple(value, value),
                fc.tuple(fc.constant(null), value),
                fc.tuple(value, fc.constant(null)),
              ),
              inclusive: fc.tuple(fc.boolean(), fc.boolean()),
            })
            .map((range) => ({
              ...base,
              operator: "range" as const,
              values: range.values,
              inclusive: [
                range.values[0] === null || range.inclusive[0],
                range.values[1] === null || range.inclusive[1],
              ] as const,
            })),
        ]
      : []),
  ];
  return fc.oneof(...operators);
}

const word: fc.Arbitrary<QueryNode> = fc
  .tuple(fc.constantFrom(...texts), fc.boolean())
  .map(([text, prefix]) => ({ kind: "word", text, phrase: true, prefix, ...SPAN }));
const term = fc.constantFrom(...names).chain((name) => termOf(name, name));
/** Terms inside a `ratings` group, without the relation's name. */
const ratingTerm = fc
  .constantFrom(...names.filter((name) => name.startsWith("ratings.")))
  .chain((name) => termOf(name, name.slice("ratings.".length)));

type Nodes = { node: QueryNode; rating: QueryNode };

function joins(tie: fc.LetrecTypedTie<Nodes>, kind: keyof Nodes): fc.Arbitrary<QueryNode>[] {
  return [
    tie(kind).map((child) => ({ kind: "not" as const, child, ...SPAN })),
    fc
      .tuple(
        fc.constantFrom("and" as const, "or" as const),
        fc.array(tie(kind), { minLength: 2, maxLength: 3 }),
      )
      .map(([joined, children]) => ({ kind: joined, children, ...SPAN })),
  ];
}

/** Queries about products, with values of rows and near misses. */
export const wineQuery: fc.Arbitrary<QueryNode> = fc.letrec<Nodes>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    { weight: 5, arbitrary: term },
    word,
    ...joins(tie, "node"),
    tie("rating").map((child) => ({
      kind: "related" as const,
      relation: path("ratings"),
      child,
      ...SPAN,
    })),
  ),
  rating: fc.oneof({ maxDepth: 3, depthSize: "small" }, ratingTerm, ...joins(tie, "rating")),
})).node;

/** Replaces the fields and relations of a tree with known ones, chosen by a hash of their names. */
export function withFields(
  node: QueryNode,
  known: readonly string[],
  relations: readonly string[],
): QueryNode {
  const pick = (from: readonly string[], { path: parts }: FieldPath) => {
    const sum = Array.from(parts.join("")).reduce((all, char) => all + char.charCodeAt(0), 0);
    return path(from[sum % from.length] ?? "id");
  };
  switch (node.kind) {
    case "and":
    case "or":
      return { ...node, children: node.children.map((one) => withFields(one, known, relations)) };
    case "not":
      return { ...node, child: withFields(node.child, known, relations) };
    case "related":
      return {
        ...node,
        relation: pick(relations, node.relation),
        child: withFields(node.child, known, relations),
      };
    case "term":
      return { ...node, field: pick(known, node.field) };
    case "word":
      return node;
  }
}
