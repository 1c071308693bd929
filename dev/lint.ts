import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { lintFolder } from "../src/migration/lint/lint.ts";
import { misplacedStatements } from "../src/migration/lint/logic.ts";

const db = join(import.meta.dirname, "../db");

/**
 * Checks the migrations named on the command line; without names, all migrations and the files of `logic`. Fails when one
 * has an error.
 */
function main(files: readonly string[]) {
  const folders = new Map<string, string[] | undefined>();
  if (files.length === 0) folders.set(join(db, "migrations"), undefined);
  const missing = files.filter((file) => !existsSync(file));
  if (missing.length > 0) throw new Error(`There is no file ${missing.join(", ")}`);
  for (const file of files)
    folders.set(dirname(file), [...(folders.get(dirname(file)) ?? []), basename(file)]);
  let errors = files.length === 0 ? lintLogic(join(db, "logic")) : 0;
  for (const [folder, only] of folders)
    for (const { file, line, severity, rule, message } of lintFolder(folder, only)) {
      console.log(`${relative("", join(folder, file))}:${line}: ${severity} ${rule}: ${message}`);
      if (severity === "error") errors++;
    }
  if (errors > 0) {
    console.log(`${errors} problem(s) in the SQL.`);
    process.exitCode = 1;
  }
}

/** Prints the statements that do not belong in files of `logic`; returns their number. */
function lintLogic(folder: string): number {
  const found = readdirSync(folder).flatMap((file) => {
    const path = join(folder, file);
    return misplacedStatements(readFileSync(path, "utf8")).map(
      ({ line, message }) => `${relative("", path)}:${line}: error logic: ${message}`,
    );
  });
  for (const line of found) console.log(line);
  return found.length;
}

if (import.meta.main) main(process.argv.slice(2));
