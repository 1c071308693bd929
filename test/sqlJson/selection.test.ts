import { describe, expect, test } from "@jest/globals";
import { GraphQLError } from "graphql";
import { PublicError } from "../../src/errors/PublicError.ts";
import { QuerySyntaxError } from "../../src/query/QuerySyntaxError.ts";
import { UnsupportedSelection, unlessUnsupported } from "../../src/sqlJson/selection.ts";

function failWith(error: Error) {
  return unlessUnsupported(() => {
    throw error;
  });
}

describe("unlessUnsupported", () => {
  test.each([
    new UnsupportedSelection("directive"),
    new GraphQLError("Variable is wrong"),
    new PublicError("BAD_USER_INPUT", "first must be from 0 to 250"),
    new QuerySyntaxError("an unclosed quote", 3),
  ])("leaves %s to Grafast", (error) => {
    expect(failWith(error)).toBeNull();
  });

  test("rethrows other errors of the compiler", () => {
    expect(() => failWith(new TypeError("x is not a function"))).toThrow(TypeError);
  });
});
