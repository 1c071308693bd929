import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { buildSchema } from "graphql";
import type { GraphQLSchema } from "graphql";
import { buildApi } from "../../src/migration/printApi.ts";
import { createDatabase } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import {
  libraryDescribed,
  looseLists,
  oddNames,
  undescribed,
  unguarded,
  unmarkedSecrets,
  unspecified,
  untypedIds,
} from "../helpers/guards/schemaRules.ts";

const contract = buildSchema(
  readFileSync(join(import.meta.dirname, "..", "fixtures", "contract", "contract.graphql"), "utf8"),
  { assumeValid: true, assumeValidSDL: true },
);

let database: TestDatabase;
let api: GraphQLSchema;

beforeAll(async () => {
  database = await createDatabase();
  api = await buildApi(database.pool, "backoffice");
});

afterAll(() => database.drop());

describe("the API", () => {
  test("has a guard on every root field", () => {
    expect(unguarded(api)).toEqual([]);
  });

  test("describes its types, fields and arguments", () => {
    expect(undescribed(api)).toEqual([]);
  });

  test("replaces the descriptions that libraries generate", () => {
    expect(libraryDescribed(api)).toEqual([]);
  });

  test("marks its credentials, so that responses with them are not compressed", () => {
    // The user-defined name of a token.
    expect(unmarkedSecrets(api)).toEqual(["RecordChange.byToken: String"]);
  });

  test("follows the naming style", () => {
    expect(oddNames(api)).toEqual([]);
  });

  test("has no null in lists, and no null instead of a list of the contract", () => {
    expect(looseLists(api, contract)).toEqual([]);
  });

  test("names the specification of each custom scalar", () => {
    expect(unspecified(api)).toEqual([]);
    expect(unspecified(buildSchema("scalar Moment type Query { at: Moment }"))).toEqual(["Moment"]);
  });

  test("accepts every id as an ID", () => {
    expect(untypedIds(api)).toEqual([]);
  });
});

describe("the checks of the API", () => {
  const planted = buildSchema(`
    """Described."""
    type Thing {
      id: ID!
      createdAt: DateTime!
      ownerId: ID
      name: String
      """Described."""
      _hidden: String
      """Described."""
      rowId: ID
      """Described."""
      tags: [String]!
      """Described."""
      codes: [String!]
    }
    type Bare { id: ID! }
    """Described."""
    enum Kind { A_ONE lower }
    """Described."""
    scalar DateTime
    """Described."""
    input Change {
      ownerId: String
      """Described."""
      inner: Inner
    }
    """Described."""
    input Inner {
      """Described."""
      thingIds: [String!]
    }
    """Described."""
    type Query {
      """Described."""
      thing(id: ID!, after: String): Thing
      """Described."""
      optional: [String!]
      """Described."""
      bare: Bare
      """Described."""
      kind: Kind
    }
    """Described."""
    type Mutation {
      """Described."""
      changeThing(id: Int!, ownerId: ID, input: Change!): Thing
    }`);

  test("detect root fields without a guard", () => {
    expect(unguarded(planted)).toEqual([
      "Query.thing",
      "Query.optional",
      "Query.bare",
      "Query.kind",
      "Mutation.changeThing",
    ]);
  });

  test("detect missing descriptions", () => {
    expect(undescribed(planted).sort()).toEqual([
      "Bare",
      "Bare.id",
      "Change.ownerId",
      "Mutation.changeThing(id:)",
      "Mutation.changeThing(input:)",
      "Mutation.changeThing(ownerId:)",
      "Query.thing(after:)",
      "Query.thing(id:)",
      "Thing.createdAt",
      "Thing.id",
      "Thing.name",
      "Thing.ownerId",
    ]);
  });

  test("detect descriptions that libraries generate", () => {
    const generated = buildSchema(`
      """Methods to use when ordering."""
      enum Order { A }
      """Plain."""
      type Query {
        """Information to aid in pagination."""
        page(
          """Plain."""
          by: Order
        ): String
      }`);
    expect(libraryDescribed(generated)).toEqual(["Order", "Query.page"]);
  });

  test("detect unmarked credentials", () => {
    const careless = buildSchema(
      "type Query { resetToken: String, tokens: Int, scopedApiKey: ID! }",
    );
    expect(unmarkedSecrets(careless)).toEqual([
      "Query.resetToken: String",
      "Query.scopedApiKey: ID!",
    ]);
  });

  test("detect invalid names", () => {
    expect(oddNames(planted)).toEqual(["Thing._hidden", "Thing.rowId", "Kind.lower"]);
  });

  test("detect nullable lists, except those of the contract", () => {
    const promised = buildSchema("type Query { optional: [String!] }");
    expect(looseLists(planted, promised)).toEqual(["Thing.tags", "Thing.codes"]);
  });

  test("detect ids of other types, also in nested inputs", () => {
    expect(untypedIds(planted)).toEqual([
      "Mutation.changeThing(id:)",
      "Change.ownerId",
      "Inner.thingIds",
    ]);
  });
});
