import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "@jest/globals";
import {
  backwardImports,
  cyclesIn,
  importsFrom,
  importsIn,
  readImports,
} from "../helpers/guards/imports.ts";

const root = path.join(import.meta.dirname, "../..");
const imports = readImports(root, ["src", "dev", "bench"]);

/** A file imports only its own folder and folders of earlier layers. */
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
  ["src/audit", "src/assistant", "src/bulk"],
  ["src/sqlJson", "src/workers/queue", "src/uploads"],
  ["src/search", "src/exports", "src/erp", "src/mail"],
  ["src/plugins"],
  ["src/graphile.config.ts"],
  ["src/migration", "src/http"],
  ["src/metrics"],
  ["src/server", "src/workers/tasks"],
  ["src/workers"],
  ["src/server.ts", "src/worker.ts", "src/commands"],
  ["dev"],
  ["bench"],
];

describe("imports", () => {
  test("form no cycle", () => {
    expect(imports.size).toBeGreaterThan(400);
    expect(cyclesIn(imports)).toEqual([]);
  });

  test("refer only to earlier layers", () => {
    expect(backwardImports(imports, layers)).toEqual([]);
  });

  test("from src do not refer to dev", () => {
    expect(importsFrom(imports, "dev", ["bench"])).toEqual([]);
  });

  test("of test files exist only in tests and bench", () => {
    expect(importsFrom(imports, "test", ["bench"])).toEqual([]);
  });
});

// The image builds the console from these files alone, and a changed one must cause a new build.
test("programs of the console import from src only what its build copies and watches", () => {
  const files = readdirSync(path.join(root, "admin/src"), { recursive: true, encoding: "utf8" });
  const used = files
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(path.join(root, "admin/src", file), "utf8");
      const imported = text.matchAll(/^import (?!type )[^;]*?from "(?:\.\.\/)+(src\/[^"]+)"/gm);
      return [...imported].map(([, name = ""]) => name);
    });
  const shared = ["src/schema/rowNames.ts", "src/text/insideSentence.ts", "src/text/suggest.ts"];
  expect(new Set(used)).toEqual(new Set(shared));
  for (const file of ["Dockerfile", "dev/buildConsole.ts"])
    for (const name of shared) expect(readFileSync(path.join(root, file), "utf8")).toContain(name);
});

describe("the checks of imports", () => {
  const planted = (file: string, text: string) =>
    new Map([...imports, [file, importsIn(file, text)]]);

  test("find an import from src to dev", () => {
    const found = importsFrom(
      planted("src/http/planted.ts", 'import { start } from "../../dev/start.ts";'),
      "dev",
      ["bench"],
    );
    expect(found).toEqual(["src/http/planted.ts imports dev/start.ts"]);
  });

  test("find a type that src imports from dev", () => {
    const text = 'import type { Start } from "../../dev/start.ts";';
    expect(importsFrom(planted("src/http/planted.ts", text), "dev", ["bench"])).toHaveLength(1);
  });

  test("find a dynamic import", () => {
    const text = 'const loaded = await import("../../dev/start.ts");';
    expect(importsFrom(planted("src/http/planted.ts", text), "dev", ["bench"])).toHaveLength(1);
  });

  test("find an import of a later layer", () => {
    const text = 'import { health } from "../http/health.ts";';
    expect(backwardImports(planted("src/errors/planted.ts", text), layers)).toEqual([
      "src/errors/planted.ts imports src/http/health.ts",
    ]);
  });

  test("find an import of another folder of the same layer", () => {
    const text = 'import { poolFor } from "../postgres/pools.ts";';
    expect(backwardImports(planted("src/tenants/planted.ts", text), layers)).toEqual([
      "src/tenants/planted.ts imports src/postgres/pools.ts",
    ]);
  });

  test("find a file without a layer", () => {
    expect(() => backwardImports(planted("src/planted/file.ts", ""), layers)).toThrow(
      "src/planted/file.ts is in no layer",
    );
  });

  test("find a cycle", () => {
    const found = cyclesIn(
      new Map([
        ["a.ts", ["b.ts"]],
        ["b.ts", ["c.ts"]],
        ["c.ts", ["b.ts"]],
      ]),
    );
    expect(found).toContain("b.ts > c.ts > b.ts");
  });
});

/** The packages that programs of these folders import, not counting types, with one importing file each. */
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

test("production code imports only production dependencies, except for two development pages", () => {
  const used = packagesOf(["src"]);
  expect(used.size).toBeGreaterThan(30);
  const others = [...used].filter(([name]) => !Object.hasOwn(manifest.dependencies, name));
  expect(others.toSorted()).toEqual([
    ["markdown-it", "src/http/documentation.ts"],
    ["ruru", "src/http/playground.ts"],
  ]);
});

test("production code imports each production dependency", () => {
  const used = packagesOf(["src"]);
  expect(Object.keys(manifest.dependencies).filter((name) => !used.has(name))).toEqual([]);
});

test("the README's folder table names every folder of src", () => {
  const readme = readFileSync(path.join(root, "README.md"), "utf8");
  const folders = readdirSync(path.join(root, "src"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `src/${name}`);
  expect(folders.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
});
