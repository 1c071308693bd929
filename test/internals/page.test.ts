import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "@jest/globals";
import { installedVersion } from "../helpers/internals/contract.ts";

const root = path.join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");

/** The rows of the table in docs/internals.md. */
const uses = read("docs/internals.md")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (?:library|---) /.test(line))
  .map((line) => {
    const [library = "", , where = "", , tested = ""] = line.split(" | ");
    const files = [...where.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file);
    return {
      library: library.slice(2),
      files,
      contractTest: `test/internals/${/`(.+)`/.exec(tested)?.[1] ?? ""}`,
    };
  });

test("each use has a contract test that names its files", () => {
  expect(uses.length).toBeGreaterThan(10);
  const untested = uses.flatMap(({ files, contractTest }) =>
    files
      .filter((file) => !existsSync(path.join(root, file)) || !read(contractTest).includes(file))
      .map((file) => `${file} in ${contractTest}`),
  );
  expect(untested).toEqual([]);
});

test("each library is pinned to the version that is installed", () => {
  const manifest = JSON.parse(read("package.json")) as {
    dependencies: Record<string, string>;
    overrides: Record<string, string | { ".": string }>;
  };
  const pins = new Map(
    uses.map(({ library }): [string, string | undefined] => {
      const override = manifest.overrides[library];
      const pin = typeof override === "object" ? override["."] : override;
      return [library, pin ?? manifest.dependencies[library]];
    }),
  );
  const installed = [...pins.keys()].map((library) => [library, installedVersion(library)]);
  expect([...pins]).toEqual(installed);
});

/** What only code that reaches into a library contains. */
const markers = [
  /\b_private_(?:jobs|job_queues|tasks)\b/,
  /\bas unknown as\b/,
  /\bpg\.Query\b|\b_sentQueryQueue\b|\bparsedStatements\b/,
  /"behavior"|\bgetPreferencesAppliedBehaviors\b/,
  /\bcreateWithPgClient\b|\bgetExecutionConfig\b/,
  /\bpool\.connect = |\.parseLiteral = |\{ stack \}/,
];

/** Casts that concern types only: a generated plan is typed as returning any step. */
const typeCasts = ["src/plugins/ConnectionsPlugin.ts", "src/plugins/ListsPlugin.ts"];

test("the page names each file that reaches into a library", () => {
  const files = ["src", "db"].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(?:ts|sql)$/.test(name))
      .map((name) => path.join(folder, name)),
  );
  const found = files
    .filter((file) => file !== "db/schema.sql")
    .filter((file) => markers.some((marker) => marker.test(read(file))));
  expect(found.length).toBeGreaterThan(5);
  const named = new Set([...uses.flatMap((use) => use.files), ...typeCasts]);
  expect(found.filter((file) => !named.has(file))).toEqual([]);
});
