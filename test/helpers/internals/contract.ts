import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const modules = path.join(import.meta.dirname, "../../../node_modules");

/** The installed version of a library, at the top level or below postgraphile. */
export function installedVersion(library: string): string {
  const folders = [
    path.join(modules, library),
    path.join(modules, "postgraphile/node_modules", library),
  ];
  const manifest = folders.map((folder) => path.join(folder, "package.json")).find(existsSync);
  if (manifest === undefined) throw new Error(`${library} is not installed`);
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

/** Throws an error that names the library, its version and the project file that depends on the statement. */
export type RequireThat = (statement: string, holds: boolean) => void;

/** Checks what a project file assumes about a library's internals. */
export function contractOf(library: string, file: string): RequireThat {
  return (statement, holds) => {
    if (!holds)
      throw new Error(
        `${library} ${installedVersion(library)} differs: "${statement}" does not hold, and ${file} depends on it (docs/internals.md)`,
      );
  };
}

/** Requires that a value has methods with these names. */
export function requireMethods(
  requireThat: RequireThat,
  owner: string,
  value: object,
  names: readonly string[],
): void {
  for (const name of names)
    requireThat(
      `${owner} has a method ${name}`,
      typeof (value as Record<string, unknown>)[name] === "function",
    );
}
