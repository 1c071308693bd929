import { readFileSync, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "@jest/globals";
import { buildSchema } from "graphql";

const root = join(import.meta.dirname, "../../..");
const dist = join(root, "admin/dist");

/** The size of a file of the build, compressed by gzip. */
const sizeOf = (file: string) => statSync(join(dist, `${file}.gz`)).size;

test("the first list stays within its size budget", () => {
  const html = readFileSync(join(dist, "index.html"), "utf8");
  const scripts = [...html.matchAll(/(?:src|href)="\/admin\/(assets\/[^"]+\.js)"/g)].map(
    ([, file = ""]) => file,
  );
  expect(scripts).not.toEqual([]);
  const bytes = scripts.map(sizeOf).reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeLessThanOrEqual(156_000);
});

test("the other parts stay within their size budgets", () => {
  const files = readdirSync(join(dist, "assets"));
  const scripts = files.filter((file) => file.endsWith(".js"));
  const large = scripts.filter(
    // The previous test limits the entry.
    (file) => !file.startsWith("index-") && sizeOf(`assets/${file}`) > 60_000,
  );
  // The query box includes an editor.
  expect(large.filter((file) => !file.startsWith("QueryEditor-"))).toEqual([]);
  for (const file of large) expect(sizeOf(`assets/${file}`)).toBeLessThanOrEqual(110_000);
  const styles = files.filter((file) => file.endsWith(".css")).map((file) => `assets/${file}`);
  expect(styles.map(sizeOf).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(12_000);
});

test("the pictures of the documentation show every page in three looks, in at most 1.5 MB", () => {
  const folder = join(root, "docs/images");
  const files = readdirSync(folder);
  const pages = ["login", "today", "list", "list-empty", "record", "drawer", "history"];
  for (const page of [...pages, "conflict", "palette", "new", "error"])
    for (const look of ["", "-dark", "-narrow"]) expect(files).toContain(`${page}${look}.webp`);
  const bytes = files.map((file) => statSync(join(folder, file)).size);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(1_500_000);
});

test("only files of pages name a list", () => {
  const schema = buildSchema(readFileSync(join(root, "schema.graphql"), "utf8"));
  const lists = Object.keys(schema.getQueryType()?.getFields() ?? {})
    .filter((name) => name.endsWith("Pages"))
    .map((name) => `${name.slice(0, -"Pages".length)}s`);
  lists.push("products", "orders", "customers", "jobs", "exportJobs");
  expect(lists.length).toBeGreaterThan(15);
  const source = join(root, "admin/src");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.tsx?$/.test(file) && !/^(?:pages|text)\//.test(file),
  );
  expect(files.length).toBeGreaterThan(30);
  const named = files.flatMap((file) => {
    const text = readFileSync(join(source, file), "utf8").replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, "");
    return lists
      .filter((list) => new RegExp(`["'\`]${list}["'\`]`).test(text))
      .map((list) => `${relative(root, join(source, file))} names ${list}`);
  });
  expect(named).toEqual([]);
});
