import { migrationNameProblems } from "../fileNames.ts";
import type { Problem } from "./rules.ts";

/** Problems with the names of a folder's migrations. */
export function lintNames(names: readonly string[]): Problem[] {
  return migrationNameProblems(names.map((name) => ({ name, isFolder: false }))).map(
    ({ file, message }) => ({ file, line: 1, rule: "file-name", severity: "error", message }),
  );
}
