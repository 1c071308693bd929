import { basename, dirname, join, relative } from "node:path";
import { lintFolder } from "../src/migration/lint/lint.ts";

/** Checks the files named on the command line, or all migrations; fails when one has an error. */
function main(files: readonly string[]) {
  const migrations = join(import.meta.dirname, "../db/migrations");
  const folders = new Map<string, string[] | undefined>();
  if (files.length === 0) folders.set(migrations, undefined);
  for (const file of files)
    folders.set(dirname(file), [...(folders.get(dirname(file)) ?? []), basename(file)]);
  let errors = 0;
  for (const [folder, only] of folders)
    for (const { file, line, severity, rule, message } of lintFolder(folder, only)) {
      console.log(`${relative("", join(folder, file))}:${line}: ${severity} ${rule}: ${message}`);
      if (severity === "error") errors++;
    }
  if (errors > 0) {
    console.log(`${errors} problem(s) in the migrations.`);
    process.exitCode = 1;
  }
}

if (import.meta.main) main(process.argv.slice(2));
