import { spawnSync } from "node:child_process";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "@jest/globals";
import { buildSchema, parse, validate } from "graphql";

const root = path.join(import.meta.dirname, "../..");
const schema = buildSchema(readFileSync(path.join(root, "schema.graphql"), "utf8"));

/** The examples of `database.md` create their own tables; another test runs them. */
const pages = readdirSync(path.join(root, "docs")).filter(
  (name) => name.endsWith(".md") && name !== "database.md",
);

describe("the operations in docs", () => {
  test.each(pages)("%s are valid", (name) => {
    const text = readFileSync(path.join(root, "docs", name), "utf8");
    // The service's `ID` takes a UUID alone; the pages leave it out.
    const shown = [...text.matchAll(/^```graphql\n(.*?)^```/gms)].map(([, operation]) =>
      operation!.replaceAll('"…"', '"0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a"'),
    );
    const problems = shown.flatMap((operation) =>
      validate(schema, parse(operation)).map((error) => `${error.message} in ${operation}`),
    );
    expect(problems).toEqual([]);
  });
});

test("the page on reliability names existing test files", () => {
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

test("the page on operations has every metric", () => {
  const text = readFileSync(path.join(root, "docs/operations.md"), "utf8");
  const metrics = globSync("src/**/*.ts", { cwd: root }).flatMap((file) =>
    [
      ...readFileSync(path.join(root, file), "utf8").matchAll(/\bname: "(office_\w+)",\s+help:/g),
    ].map(([, name]) => name!),
  );
  expect(metrics.length).toBeGreaterThan(20);
  expect(metrics.filter((name) => !text.includes(`\`${name}`))).toEqual([]);
});

/** Every documentation page, by its path from the root. */
const written = [
  "README.md",
  "CHANGELOG.md",
  "bench/RESULTS.md",
  ...readdirSync(path.join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

describe("targets of links exist", () => {
  const textOf = (page: string) => readFileSync(path.join(root, page), "utf8");

  test.each(written)("every npm script that %s names", (page) => {
    const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
    const named = [...textOf(page).matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  test.each(written)("every file and heading that %s links to", (page) => {
    const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
    const broken = links.filter(([, file, heading]) => {
      const target = file ? path.join(path.dirname(page), file) : page;
      if (!existsSync(path.join(root, target))) return true;
      return heading !== undefined && !headingsOf(textOf(target)).includes(heading);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});

/** The code of a page, inline or in blocks. */
function codeOf(text: string): string[] {
  const blocks = [...text.matchAll(/^ *```(?:sh|bash)\n(.*?)^ *```/gms)].map(([, code]) => code!);
  const inline = [...text.replace(/^ *```.*?^ *```/gms, "").matchAll(/`([^`\n]+)`/g)];
  return [...blocks.flatMap((block) => block.split("\n")), ...inline.map(([, code]) => code!)];
}

test("the README lists every page", () => {
  const readme = readFileSync(path.join(root, "README.md"), "utf8");
  const missing = readdirSync(path.join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .filter((name) => !readme.includes(`](docs/${name})`));
  expect(missing).toEqual([]);
});

describe("commands in pages work with an older Node version on the machine", () => {
  const codeIn = (page: string) => codeOf(readFileSync(path.join(root, page), "utf8"));
  const testFiles = readdirSync(path.join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `test/${name}`);
  const all = [...written, "bench/peers/README.md"];

  test.each(all)("%s does not run TypeScript files with node directly", (page) => {
    const run = codeIn(page).flatMap((code) => /\bnode\b.*?([\w./-]+\.ts)\b/.exec(code)?.[1] ?? []);
    expect(run.filter((file) => existsSync(path.join(root, file)))).toEqual([]);
  });

  test.each(all)("%s names existing tests", (page) => {
    const missing = codeIn(page).flatMap((code) => {
      const [, list = ""] = /npm test -- ([^#;&|]*)/.exec(code) ?? [];
      const patterns = list.split(/\s+/).filter((word) => word !== "" && !word.startsWith("-"));
      return patterns.filter((pattern) => !testFiles.some((file) => file.includes(pattern)));
    });
    expect(missing).toEqual([]);
  });

  test.each(all)("%s names existing benchmarks", (page) => {
    const named = codeIn(page).flatMap((code) => /npm run bench -- ([\w/]+)/.exec(code)?.[1] ?? []);
    expect(named.filter((name) => !existsSync(path.join(root, `bench/${name}.ts`)))).toEqual([]);
  });

  test("every npm script names existing programs", () => {
    const { scripts } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const programs = Object.values(scripts).flatMap(
      (script) => script.match(/\S+\.(?:ts|sh|js)\b/g) ?? [],
    );
    expect(programs.length).toBeGreaterThan(15);
    expect(programs.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  });

  test("`npm run bench` lists the benchmarks", () => {
    const { status, stderr } = spawnSync("npm", ["run", "--silent", "bench", "--", "nothing"], {
      cwd: root,
      encoding: "utf8",
    });
    expect(status).toBe(2);
    expect(stderr).toContain("There is no program bench/nothing.ts.");
    expect(stderr.split("\n")).toContain("  dayInTheLife");
  });
});

/** The anchors of a page's headings. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
}
