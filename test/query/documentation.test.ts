import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { parseQuery } from "../../src/query/parse.ts";
import { refusal } from "../helpers/query/refusals.ts";
import { withoutPositions } from "../helpers/query/trees.ts";

const page = readFileSync(new URL("../../docs/query-language.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, example = ""]) => example);
const pairs = [...page.matchAll(/^\| `([^`]+)` +\| `([^`]+)` +\|/gm)];
const errorBlock = /```errors\n([^]*?)\n```/.exec(page)?.[1] ?? "";
const errors = [...errorBlock.matchAll(/^(\S.*)\n {2}(query: .*)$/gm)];

describe("docs/query-language.md", () => {
  test("every operator example parses", () => {
    expect(examples.length).toBeGreaterThan(25);
    for (const example of examples) expect(parseQuery(example)).toHaveProperty("kind");
  });

  test("queries documented as equivalent are equivalent", () => {
    expect(pairs).toHaveLength(6);
    for (const [, left = "", right = ""] of pairs) {
      expect(withoutPositions(parseQuery(left))).toEqual(withoutPositions(parseQuery(right)));
    }
  });

  test("every error example gives the message shown below it", () => {
    expect(errors).toHaveLength(errorBlock.split("\n").length / 2);
    const shown = errors.map(([, query, message]) => ({ query, message }));
    const given = errors.map(([, query = ""]) => ({
      query,
      message: refusal(() => parseQuery(query)).message,
    }));
    expect(given).toEqual(shown);
  });
});
