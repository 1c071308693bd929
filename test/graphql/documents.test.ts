import { describe, expect, test } from "@jest/globals";
import { Kind, getIntrospectionQuery, parse } from "graphql";
import { readConfig } from "../../src/config.ts";
import { makeDocuments } from "../../src/graphql/documents.ts";
import { pathByDefinition, pathInDocument } from "../../src/errors/inputPath.ts";
import { cpuTime, measureUntilBelow } from "../helpers/cpuTime.ts";
import { hostileDocuments } from "../helpers/hostileDocuments.ts";
import { refusal, countingSchema } from "../helpers/graphql/countingSchema.ts";

describe("texts in a document", () => {
  test.each([
    [String.raw`{ take(a: "\u0000") }`, /^a holds/],
    [String.raw`{ take(a: {b: ["x", "\u{0}"]}) }`, /^a\.b\.1 holds/],
    [String.raw`query ($v: Any = "\u0000") { take(a: $v) }`, /holds/],
  ])("are rejected with NUL: %s", (query, message) => {
    expect(refusal(query)).toMatch(message);
  });
  test.each([
    String.raw`{ take(a: "\\u0000") }`,
    `{ take(a: """\\u0000""") }`,
    String.raw`{ take(a: "\u{1F377}") }`,
  ])("are accepted with an escaped backslash before it: %s", (query) => {
    expect(refusal(query)).toBeNull();
  });
});

describe("a variable's path", () => {
  const document =
    parse(`query A($x: ID!) { user(id: $x) { id } } query B($x: ID!, $y: [ID!], $z: Int) { ...F a: b(in: { ids: [$x] }) }
    fragment F on Query { c(list: $y) d @include(if: $z) }`);
  test.each([
    ["A", ["x"], ["id"]],
    ["B", ["x", "deep", 1], ["in", "ids", 0, "deep", 1]],
    ["B", ["y", 3], ["list", 3]],
    ["B", ["z"], ["z"]],
    ["B", ["unknown"], ["unknown"]],
    ["B", [], []],
    [null, ["y"], ["list"]],
  ])("of operation %s, %j, is %j", (operation, path, place) => {
    expect(pathInDocument(document, operation, path)).toEqual(place);
  });
  test("is found from its definition too", () => {
    const definitions = document.definitions.flatMap((node) =>
      node.kind === Kind.OPERATION_DEFINITION ? (node.variableDefinitions ?? []) : [],
    );
    const places = definitions.map((one) => pathByDefinition(one, [one.variable.name.value, "a"]));
    expect(places).toEqual([
      ["id", "a"],
      ["in", "ids", 0, "a"],
      ["list", "a"],
      ["z", "a"],
    ]);
  });
});

describe("documents with default limits", () => {
  const config = readConfig({});
  const documents = makeDocuments(() => countingSchema, config);

  test("may be the stock introspection query", () => {
    for (const options of [
      {},
      {
        specifiedByUrl: true,
        directiveIsRepeatable: true,
        schemaDescription: true,
        inputValueDeprecation: true,
        oneOf: true,
      },
    ])
      expect(documents.read(getIntrospectionQuery(options)).errors).toBeUndefined();
  });

  test.each(hostileDocuments("roles", "id"))(
    "are rejected within 50 ms when they are hostile: $name",
    ({ query }) => {
      // Each iteration uses a new document; the first ones include JIT compilation.
      let blanks = "";
      const time = () =>
        cpuTime(() => {
          expect(documents.read(query + (blanks += " ")).errors).toBeDefined();
        });
      expect(measureUntilBelow(50, time)).toBeLessThan(50);
    },
  );

  test("are cached by number and size, including rejected ones", () => {
    expect(documents.read("{ id }")).toBe(documents.read("{ id }"));
    expect(documents.read("{ no }")).toBe(documents.read("{ no }"));
    const kept = documents.read("{ me { id } }");
    for (let index = 0; index < config.limits.planCache; index++)
      documents.read(`{ a${index}: id }`);
    expect(documents.read("{ me { id } }")).not.toBe(kept);
    const again = documents.read("{ me { id } }");
    for (let index = 0; index < 30; index++)
      documents.read(`{ a${index}: id } #${"x".repeat(90_000)}`);
    expect(documents.read("{ me { id } }")).not.toBe(again);
  });
});
