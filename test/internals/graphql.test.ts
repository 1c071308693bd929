import { afterEach, test } from "@jest/globals";
import { GraphQLID, buildSchema, graphqlSync } from "graphql";
import { contractOf } from "../helpers/internals/contract.ts";

const { parseValue, parseLiteral } = GraphQLID;

afterEach(() => {
  Object.assign(GraphQLID, { parseValue, parseLiteral });
});

test("every schema shares one scalar ID, whose parsers can be replaced", () => {
  const requireThat = contractOf("graphql", "src/plugins/ShapePlugin.ts");
  const schema = buildSchema("type Query { find(id: ID): ID }");
  requireThat("a schema's ID is GraphQLID", schema.getType("ID") === GraphQLID);
  GraphQLID.parseValue = () => "parsed value";
  GraphQLID.parseLiteral = () => "parsed literal";
  const rootValue = { find: ({ id }: { id: string }) => id };
  const variable = graphqlSync({
    schema,
    rootValue,
    source: "query ($id: ID) { find(id: $id) }",
    variableValues: { id: "1" },
  });
  requireThat("parseValue reads variables", variable.data?.["find"] === "parsed value");
  const literal = graphqlSync({ schema, rootValue, source: '{ find(id: "1") }' });
  requireThat("parseLiteral reads literals", literal.data?.["find"] === "parsed literal");
});
