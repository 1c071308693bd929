import type { Problem } from "./rules.ts";

const pattern = /^(\d{4})_[a-z][a-z0-9]*(_[a-z0-9]+)*\.sql$/;

/**
 * Checks the names of all migrations of a folder: their form, and that no number is taken twice. Gaps are no fault: numbers
 * order the files, and those who prepare migrations side by side take theirs beforehand.
 */
export function lintNames(names: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  const add = (file: string, message: string) =>
    problems.push({ file, line: 1, rule: "file-name", severity: "error", message });
  let previous = "";
  for (const file of names.toSorted()) {
    const number = pattern.exec(file)?.[1];
    if (number === undefined) {
      add(
        file,
        "Not a migration's name. Write four digits and snake_case, such as 0004_campaigns.sql.",
      );
      continue;
    }
    if (number === previous)
      add(file, `The number ${number} is taken by another migration. Give this one the next free.`);
    previous = number;
  }
  return problems;
}
