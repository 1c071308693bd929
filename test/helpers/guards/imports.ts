import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";

/** The imports of each file, including type imports; paths are relative to the root. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** Reads the imports of all TypeScript files in these folders. */
export function readImports(root: string, folders: readonly string[]): Imports {
  const files = folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
      // bench/ can have its own node_modules.
      .filter((name) => name.endsWith(".ts") && !name.includes("node_modules"))
      .map((name) => path.join(folder, name)),
  );
  return new Map(
    files.map((file) => [file, importsIn(file, readFileSync(path.join(root, file), "utf8"))]),
  );
}

/** The files that a source text imports. */
export function importsIn(file: string, text: string): string[] {
  const named = text.matchAll(/(?:\sfrom|import\()\s*"(\.{1,2}\/[^"]+)"/g);
  return [...named].map(([, address = ""]) =>
    path.normalize(path.join(path.dirname(file), address)),
  );
}

/** Import cycles, as `a > b > a`. */
export function cyclesIn(imports: Imports): string[] {
  const done = new Set<string>();
  return [...imports.keys()].flatMap((file) => cycleFrom(file, imports, done)?.join(" > ") ?? []);
}

function cycleFrom(
  file: string,
  imports: Imports,
  done: Set<string>,
  way: readonly string[] = [],
): string[] | undefined {
  if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
  if (done.has(file)) return undefined;
  for (const next of imports.get(file) ?? []) {
    const circle = cycleFrom(next, imports, done, [...way, file]);
    if (circle) return circle;
  }
  done.add(file);
  return undefined;
}

/** Imports of a folder's files by files outside the folder and outside `except`. */
export function importsFrom(
  imports: Imports,
  folder: string,
  except: readonly string[] = [],
): string[] {
  return [...imports]
    .filter(([file]) => ![folder, ...except].some((one) => file.startsWith(`${one}/`)))
    .flatMap(([file, named]) =>
      named.filter((one) => one.startsWith(`${folder}/`)).map((one) => `${file} imports ${one}`),
    );
}

/** Imports that do not lead to an earlier layer. `layers` names folders or files. */
export function backwardImports(
  imports: Imports,
  layers: readonly (readonly string[])[],
): string[] {
  const layerOf = new Map(layers.flatMap((places, index) => places.map((one) => [one, index])));
  return [...imports].flatMap(([file, named]) => {
    const own = placeOf(file, layerOf);
    return named
      .filter((one) => imports.has(one))
      .filter((one) => {
        const place = placeOf(one, layerOf);
        return place !== own && layerOf.get(place)! >= layerOf.get(own)!;
      })
      .map((one) => `${file} imports ${one}`);
  });
}

/** The deepest folder or file of the layers that contains a file. */
function placeOf(file: string, layerOf: ReadonlyMap<string, number>): string {
  const parts = file.split("/");
  for (let length = parts.length; length > 0; length--) {
    const place = parts.slice(0, length).join("/");
    if (layerOf.has(place)) return place;
  }
  throw new Error(`${file} is in no layer of test/guards/structure.test.ts`);
}
