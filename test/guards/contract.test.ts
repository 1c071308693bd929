import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { buildSchema } from "graphql";
import { contractGaps } from "../helpers/guards/contractGaps.ts";

const root = join(import.meta.dirname, "..", "..");
const contract = readFileSync(
  join(root, "test", "fixtures", "contract", "contract.graphql"),
  "utf8",
);
const notYetServed = JSON.parse(
  readFileSync(join(root, "test", "fixtures", "contract", "notYetServed.json"), "utf8"),
) as string[];
// Another test checks that this file matches the served schema.
const servedText = readFileSync(join(root, "schema.graphql"), "utf8");
const gaps = contractGaps(contract, buildSchema(servedText));

describe("the published contract", () => {
  test("is served except for the entries of notYetServed.json", () => {
    expect(gaps.filter((gap) => !notYetServed.includes(gap))).toEqual([]);
  });

  test("has no entry in notYetServed.json that is already served", () => {
    expect(notYetServed.filter((entry) => !gaps.includes(entry))).toEqual([]);
  });

  test("has sorted and unique entries in notYetServed.json", () => {
    expect(notYetServed).toEqual([...new Set(notYetServed)].sort());
  });
});

describe("the comparison with the contract", () => {
  const promised = `
    enum Kind
    input Filter { since: String }
    type Thing { id: ID! name: String kind: Kind! tags: [String!]! }
    type Query { things(filter: Filter): [Thing!]! thing(id: ID!): Thing }`;
  const kept = `
    enum Kind { A B }
    input Filter { since: String until: String }
    type Thing { id: ID! name: String! kind: Kind! tags: [String!]! more: Int }
    type Query { things(filter: Filter, first: Int): [Thing!]! thing(id: ID!): Thing! }`;

  test("accepts a schema that serves more than the contract", () => {
    expect(contractGaps(promised, buildSchema(kept))).toEqual([]);
  });

  test.each([
    ["a field that is gone", /name: String! /, "", "FIELD_REMOVED Thing.name"],
    [
      "a field that may be null",
      "kind: Kind!",
      "kind: Kind",
      "FIELD_CHANGED_KIND Thing.kind changed type from Kind! to Kind",
    ],
    [
      "a list whose items may be null",
      "tags: [String!]!",
      "tags: [String]!",
      "FIELD_CHANGED_KIND Thing.tags changed type from [String!]! to [String]!",
    ],
    ["an argument that is gone", "filter: Filter, ", "", "ARG_REMOVED Query.things arg filter"],
    [
      "a new argument that callers would have to give",
      "first: Int",
      "first: Int!",
      "REQUIRED_ARG_ADDED A required arg first on Query.things was added",
    ],
    [
      "an input field that must be given",
      "since: String",
      "since: String!",
      "FIELD_CHANGED_KIND Filter.since changed type from String to String!",
    ],
    [
      "a type of another kind",
      "id: ID! name",
      "id: Int! name",
      "FIELD_CHANGED_KIND Thing.id changed type from ID! to Int!",
    ],
  ])("finds %s", (_what, before, after, gap) => {
    expect(contractGaps(promised, buildSchema(kept.replace(before, after)))).toEqual([gap]);
  });
});
