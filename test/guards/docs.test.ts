import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "@jest/globals";
import { buildSchema, parse, validate } from "graphql";

const root = path.join(import.meta.dirname, "../..");
const schema = buildSchema(readFileSync(path.join(root, "schema.graphql"), "utf8"));

/** The examples of `database.md` are about tables that they make themselves, and are run. */
const pages = readdirSync(path.join(root, "docs")).filter(
  (name) => name.endsWith(".md") && name !== "database.md",
);

describe("the operations shown in docs", () => {
  test.each(pages)("%s are valid", (name) => {
    const text = readFileSync(path.join(root, "docs", name), "utf8");
    const shown = [...text.matchAll(/^```graphql\n(.*?)^```/gms)].map(
      ([, operation]) => operation!,
    );
    const problems = shown.flatMap((operation) =>
      validate(schema, parse(operation)).map((error) => `${error.message} in ${operation}`),
    );
    expect(problems).toEqual([]);
  });
});

test("what the page on reliability says to be tested names files that there are", () => {
  const text = readFileSync(path.join(root, "docs/reliability.md"), "utf8");
  const named = [...text.matchAll(/`([A-Za-z_/]+(?:\.(?:test|fault))?\.ts)`/g)].map(
    ([, file]) => file!,
  );
  expect(named.length).toBeGreaterThan(50);
  const missing = named.filter(
    (file) => !existsSync(path.join(root, file.startsWith("bench/") ? file : `test/${file}`)),
  );
  expect(missing).toEqual([]);
});
