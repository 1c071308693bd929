import { expect, test } from "@jest/globals";
import { type OperationDefinitionNode, buildSchema, getVariableValues, parse } from "graphql";
import { withSuggestion } from "../../src/plugins/VariableErrorsPlugin.ts";

const schema = buildSchema(`
  enum By { A_ASC A_DESC }
  input Given { title: String! medium: String }
  type Query { field(by: [By!], given: Given): Int }
`);
const [operation] = parse("query ($given: Given, $by: [By!]) { field(given: $given, by: $by) }")
  .definitions as [OperationDefinitionNode];
const messagesOf = (variables: Record<string, unknown>) => {
  const { errors = [] } = getVariableValues(
    schema,
    operation.variableDefinitions ?? [],
    variables,
    { maxErrors: 20, hideSuggestions: true },
  );
  return withSuggestion(errors, schema).map(({ message }) => message.replace(/^.*; /, ""));
};

test("only the first unknown key gets a suggestion", () => {
  expect(messagesOf({ given: { titel: "x", mediun: "y" } })).toEqual([
    'Field "title" of required type "String!" was not provided.',
    'Field "titel" is not defined by type "Given". Did you mean "title"?',
    'Field "mediun" is not defined by type "Given".',
  ]);
});

test("an unknown enum value gets the nearest values", () => {
  expect(messagesOf({ by: ["A_ASK"] })[0]).toMatch(/ Did you mean "A_ASC"/);
});

test("a key without a similar known one gets no suggestion", () => {
  expect(messagesOf({ given: { title: "x", zzzzzzzzz: 1 } })).toEqual([
    'Field "zzzzzzzzz" is not defined by type "Given".',
  ]);
});
