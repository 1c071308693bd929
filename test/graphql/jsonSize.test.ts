import { describe, expect, test } from "@jest/globals";
import { exceededLimit } from "../../src/graphql/jsonSize.ts";

const limits = { depth: 2, values: 5 };
const exceeded = (text: string) => exceededLimit(Buffer.from(text), limits);

describe("the size of a JSON text", () => {
  test.each([
    ["as deep as allowed", "[[1]]", null],
    ["one level deeper", "[[[1]]]", "depth"],
    ["with as many values as allowed", "[1,2,3,4]", null],
    ["with one value more", "[1,2,3,4,5]", "values"],
    ["with brackets and commas in strings", '["[[[[","a,b,c,d,e,f"]', null],
    ["with escaped quotes in a string", '["\\"[[[",1]', null],
    ["that ends within a string", '"\\', null],
  ])("is known without parsing it %s", (_name, text, limit) => {
    expect(exceeded(text)).toBe(limit);
  });
});
