import { expect, test } from "@jest/globals";
import { type GraphQLScalarType, type OperationDefinitionNode, buildSchema, parse } from "graphql";
import { coerceByParts, coerceVariables } from "../../src/graphql/coerceVariables.ts";

const schema = buildSchema(`
  scalar Any
  type Query { of(ids: [ID!], input: In, any: Any, lists: [[ID!]]): Int }
  input In { name: String = "none" ids: [ID!]! lines: [Line!] note: Float }
  input Line { counts: [Int!]! }`);
const [operation] = parse(
  "query ($ids: [ID!], $input: In!, $first: Int = 5, $any: Any, $lists: [[ID!]]) { of(ids: $ids, input: $input, any: $any, lists: $lists) }",
).definitions as OperationDefinitionNode[];
const numbers = (count: number) => Array.from({ length: count }, (_item, n) => n);

/** Coerces variables at once and in parts; also returns the number of event-loop turns. */
async function both(given: Record<string, unknown>) {
  if (!operation) throw new Error("there is no operation");
  let turns = 0;
  const turn = () => {
    turns++;
    return Promise.resolve();
  };
  const byParts = await coerceByParts(schema, operation, given, turn);
  return { byParts, atOnce: coerceVariables(schema, operation, given), turns };
}

test("coercing long lists in parts gives the same values at any position", async () => {
  const given = {
    ids: numbers(4_001),
    input: {
      ids: ["a"],
      lines: [{ counts: [1] }, { counts: numbers(10_000).toReversed() }],
      note: 1.5,
    },
  };
  const before = structuredClone(given);
  const { byParts, atOnce, turns } = await both(given);
  expect(byParts).toEqual(atOnce);
  expect(byParts).toMatchObject({ first: 5, input: { name: "none" } });
  // One turn for all short values, three and five for the lists.
  expect(turns).toBe(9);
  expect(given).toEqual(before);
});

test.each([
  ["of no type that knows lists", { any: { list: numbers(5_000) } }, 1],
  ["that nobody declared", { other: numbers(5_000) }, 1],
  ["within lists", { lists: [[1], numbers(5_000), null] }, 4],
  ["within a list that is long itself", { lists: Array.from({ length: 3_000 }, () => [1]) }, 3],
  ["in place of a list of one", { input: { ids: "a", lines: { counts: numbers(5_000) } } }, 1],
])("coercing lists %s in parts gives the same values", async (_what, some, turns) => {
  const done = await both({ input: { ids: [] }, ...some });
  expect(done.byParts).not.toBeNull();
  expect(done.byParts).toEqual(done.atOnce);
  expect(done.turns).toBe(turns);
});

test("coerces each value once with several long lists", async () => {
  let coerced = 0;
  const id = schema.getType("ID") as GraphQLScalarType;
  const { parseValue } = id;
  id.parseValue = (value) => {
    coerced++;
    return parseValue(value);
  };
  const given = { ids: numbers(6_000), input: { ids: numbers(1_500) }, lists: [numbers(6_000)] };
  const { byParts } = await both(given);
  id.parseValue = parseValue;
  expect(byParts).not.toBeNull();
  // Once in parts, once at once.
  expect(coerced).toBe(2 * 13_500);
});

test("does not coerce the remaining lists after an error", async () => {
  expect((await both({ ids: numbers(50_000), input: null })).turns).toBe(1);
});

test.each([
  ["one late in a long list", { input: { ids: numbers(5_000).with(4_999, 0.5) } }],
  ["something short beside a long list", { input: { ids: numbers(5_000), note: "much" } }],
  ["a list where there is to be none", { input: { ids: ["a"], name: numbers(5_000) } }],
  ["a long list of nothing known", { input: { ids: [] }, other: numbers(5_000), ids: [null] }],
  ["nothing where there is to be something", {}],
])("rejects in parts what it rejects at once: %s", async (_what, given) => {
  expect(await both(given)).toMatchObject({ byParts: null, atOnce: null });
});
