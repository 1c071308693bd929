import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "@jest/globals";

const root = path.join(import.meta.dirname, "../..");

/** Which files each program of these folders imports, types as well; paths from the root. */
const imports = new Map(
  ["src", "db", "dev", "bench"].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
      // Packages of the bench's own may be installed there.
      .filter((name) => name.endsWith(".ts") && !name.includes("node_modules"))
      .map((name): [string, string[]] => {
        const file = path.join(folder, name);
        const text = readFileSync(path.join(root, file), "utf8");
        const named = [...text.matchAll(/(?:\sfrom|import\()\s*"(\.{1,2}\/[^"]+)"/g)];
        return [
          file,
          named.map(([, address]) => path.normalize(path.join(path.dirname(file), address!))),
        ];
      }),
  ),
);

/** A way that leads from a file back to itself. */
function circleFrom(
  file: string,
  done: Set<string>,
  way: readonly string[] = [],
): string[] | undefined {
  if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
  if (done.has(file)) return undefined;
  for (const next of imports.get(file) ?? []) {
    const circle = circleFrom(next, done, [...way, file]);
    if (circle) return circle;
  }
  done.add(file);
  return undefined;
}

test("No file imports itself by way of others.", () => {
  expect(imports.size).toBeGreaterThan(400);
  const done = new Set<string>();
  expect([...imports.keys()].flatMap((file) => circleFrom(file, done)?.join(" > ") ?? [])).toEqual(
    [],
  );
});

test.each([
  ["src/http", ["src/server/startServer.ts"]],
  ["src/plugins", ["src/graphile.config.ts", "src/server/startServer.ts", "src/reads"]],
  ["src/workers", ["src/worker.ts", "src/search"]],
  ["src/commands", []],
  ["dev", []],
  ["test", []],
  ["bench", []],
])("%s is imported by nothing that stands beneath it", (folder, allowed) => {
  const isIn = (file: string, place: string) => file === place || file.startsWith(`${place}/`);
  const others = [...imports]
    .filter(([file]) => ![folder, "bench", ...allowed].some((place) => isIn(file, place)))
    .flatMap(([file, named]) =>
      named.filter((one) => isIn(one, folder)).map((one) => `${file} imports ${one}`),
    );
  expect(others).toEqual([]);
});

/** The packages that programs of these folders import, types left aside, with one file of each. */
function packagesOf(folders: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const file of imports.keys()) {
    if (!folders.some((folder) => file.startsWith(`${folder}/`))) continue;
    const text = readFileSync(path.join(root, file), "utf8");
    const statements = text.matchAll(
      /(?:^(?:import|export) (?!type )[^;]*?from|import\()\s*"([^".][^"]*)"/gm,
    );
    for (const [, specifier = ""] of statements) {
      const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? "";
      if (!name.startsWith("node:")) found.set(name, file);
    }
  }
  return found;
}

const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as Record<
  "dependencies" | "devDependencies",
  Record<string, string>
>;

test("Production code imports production dependencies only, but for pages of development", () => {
  const used = packagesOf(["src", "db"]);
  expect(used.size).toBeGreaterThan(30);
  const others = [...used].filter(([name]) => !Object.hasOwn(manifest.dependencies, name));
  expect(others.toSorted()).toEqual([
    ["markdown-it", "src/http/documentation.ts"],
    ["ruru", "src/http/playground.ts"],
  ]);
});

test("Production code imports each production dependency.", () => {
  const used = packagesOf(["src", "db"]);
  expect(Object.keys(manifest.dependencies).filter((name) => !used.has(name))).toEqual([]);
});

test("The README's map of the house names every folder of src.", () => {
  const readme = readFileSync(path.join(root, "README.md"), "utf8");
  const folders = readdirSync(path.join(root, "src"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `src/${name}`);
  expect(folders.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
});
