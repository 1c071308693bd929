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

/**
 * The folders in layers: a file imports its own folder and folders of the layers before it, never one of its own or a later layer.
 */
const layers = [
  ["src/text"],
  ["src/settings", "src/html"],
  ["src/config.ts"],
  ["src/context", "src/health", "src/process", "src/telemetry"],
  ["src/gateways"],
  ["src/errors"],
  ["src/tenants", "src/postgres"],
  ["src/query", "src/auth"],
  ["src/schema", "src/graphql", "src/xlsx"],
  ["src/paging"],
  ["src/audit", "src/assistant"],
  ["src/sqlJson", "src/workers/queue", "src/uploads"],
  ["src/search", "src/exports", "src/erp", "src/mail"],
  ["src/plugins"],
  ["src/graphile.config.ts"],
  ["db", "src/http"],
  ["src/metrics"],
  ["src/server", "src/workers/tasks"],
  ["src/workers"],
  ["src/server.ts", "src/worker.ts", "src/commands"],
  ["dev"],
  ["bench"],
];

const layerOf = new Map(layers.flatMap((folders, index) => folders.map((one) => [one, index])));

/** The folder of the layers that a file belongs to: the deepest one that holds it. */
function folderOf(file: string): string {
  const parts = file.split("/");
  for (let length = parts.length; length > 0; length--) {
    const place = parts.slice(0, length).join("/");
    if (layerOf.has(place)) return place;
  }
  throw new Error(
    `${file} is in none of the folders of the layers in test/guards/structure.test.ts`,
  );
}

test("imports only from layers before its own", () => {
  const backwards = [...imports].flatMap(([file, named]) => {
    const own = folderOf(file);
    return named
      .filter((one) => imports.has(one) && folderOf(one) !== own)
      .filter((one) => layerOf.get(folderOf(one))! >= layerOf.get(own)!)
      .map((one) => `${file} imports ${one}`);
  });
  expect(backwards).toEqual([]);
});

test("imports nothing from test outside of bench", () => {
  const others = [...imports]
    .filter(([file]) => !file.startsWith("bench/"))
    .flatMap(([file, named]) =>
      named.filter((one) => one.startsWith("test/")).map((one) => `${file} imports ${one}`),
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
