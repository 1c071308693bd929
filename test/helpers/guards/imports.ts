import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";

/** Files with the files that each imports, types as well; paths from the root. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** Reads the imports of all programs in these folders. */
export function readImports(root: string, folders: readonly string[]): Imports {
  const files = folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
      // bench/ may have packages installed beside its programs.
      .filter((name) => name.endsWith(".ts") && !name.includes("node_modules"))
      .map((name) => path.join(folder, name)),
  );
  return new Map(
    files.map((file) => [file, importsIn(file, readFileSync(path.join(root, file), "utf8"))]),
  );
}

/** The files that a program imports. */
export function importsIn(file: string, text: string): string[] {
  const named = text.matchAll(/(?:\sfrom|import\()\s*"(\.{1,2}\/[^"]+)"/g);
  return [...named].map(([, address = ""]) =>
    path.normalize(path.join(path.dirname(file), address)),
  );
}

/** The imports that lead from a file back to itself, as `a > b > a`. */
export function circlesIn(imports: Imports): string[] {
  const done = new Set<string>();
  return [...imports.keys()].flatMap((file) => circleFrom(file, imports, done)?.join(" > ") ?? []);
}

function circleFrom(
  file: string,
  imports: Imports,
  done: Set<string>,
  way: readonly string[] = [],
): string[] | undefined {
  if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
  if (done.has(file)) return undefined;
  for (const next of imports.get(file) ?? []) {
    const circle = circleFrom(next, imports, done, [...way, file]);
    if (circle) return circle;
  }
  done.add(file);
  return undefined;
}

/** The imports that lead into a folder from files outside of the folders in `except`. */
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

/** The imports that do not lead from a layer to one before it. `layers` names folders or files. */
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

/** The folder or file of the layers that a file belongs to: the deepest one that holds it. */
function placeOf(file: string, layerOf: ReadonlyMap<string, number>): string {
  const parts = file.split("/");
  for (let length = parts.length; length > 0; length--) {
    const place = parts.slice(0, length).join("/");
    if (layerOf.has(place)) return place;
  }
  throw new Error(`${file} is in no layer of test/guards/structure.test.ts`);
}
