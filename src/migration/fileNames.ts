import { relative } from "node:path";

/** An entry of an SQL folder. */
export interface Entry {
  name: string;
  isFolder: boolean;
}

/** A file with an invalid name, and a message with the fix. */
export interface NameProblem {
  file: string;
  message: string;
}

const form = /^(\d{4})_[a-z][a-z0-9]*(_[a-z0-9]+)*\.sql$/;

/**
 * Checks the names of all migrations of a folder: form and unique numbers. Gaps are allowed, because parallel branches
 * reserve numbers. Names that start with a dot are ignored.
 */
export function migrationNameProblems(entries: readonly Entry[]): NameProblem[] {
  const visible = entries
    .filter(({ name }) => !name.startsWith("."))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const next = nextNumber(visible);
  const byNumber = new Map<string, string>();
  return visible.flatMap((entry) => {
    const number = form.exec(entry.name)?.[1];
    if (number === undefined || entry.isFolder)
      return [{ file: entry.name, message: formProblem(entry, next) }];
    const other = byNumber.get(number);
    byNumber.set(number, entry.name);
    if (other === undefined) return [];
    return [
      {
        file: entry.name,
        message: `${entry.name} has the number of ${other}: give the newer of the two the next free number, ${next}`,
      },
    ];
  });
}

/** Checks the names in a `logic` folder, whose files need no numbers. */
export function logicNameProblems(entries: readonly Entry[]): NameProblem[] {
  return entries
    .filter(({ name, isFolder }) => !name.startsWith(".") && (isFolder || !name.endsWith(".sql")))
    .map(({ name, isFolder }) => ({
      file: name,
      message: isFolder
        ? `${name} is a folder: move its files up, because only files of this folder run`
        : `${name} does not end in ".sql", so it would never run: rename it or move it elsewhere`,
    }));
}

/** Checks the names in a deployment's folder, of whose files only `prepare.sql` runs. */
export function extraFolderProblems(entries: readonly Entry[]): NameProblem[] {
  return entries
    .filter(
      ({ name, isFolder }) =>
        !isFolder && !name.startsWith(".") && /\.sql$/i.test(name) && name !== "prepare.sql",
    )
    .map(({ name }) => ({
      file: name,
      message: `${name} would never run: move it to "migrations" or "logic", or name it prepare.sql if it creates extensions or roles`,
    }));
}

function formProblem({ name, isFolder }: Entry, next: string): string {
  const digits = /^\d*/.exec(name)?.[0] ?? "";
  const good = goodName(name, digits, next);
  if (isFolder) return `${name} is a folder: a migration is one file, such as ${good}`;
  if (!/\.sql$/i.test(name))
    return `${name} is no migration: only files such as ${next}_vat.sql belong in this folder`;
  if (!name.endsWith(".sql"))
    return `${name} does not end in ".sql" in small letters: rename it to ${good}`;
  if (digits === "") return `${name} has no number, which says when it runs: rename it to ${good}`;
  if (digits.length !== 4)
    return `${name} has a number of ${digits.length} ${digits.length === 1 ? "digit" : "digits"} instead of four: rename it to ${good}`;
  return `${name} is not written in small letters, digits and single underscores: rename it to ${good}`;
}

function goodName(name: string, digits: string, next: string): string {
  const words = name
    .slice(digits.length)
    .replace(/\.sql$/i, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replace(/^[_0-9]+|_+$/g, "");
  const number = digits.length > 0 && digits.length <= 4 ? digits.padStart(4, "0") : next;
  return `${number}_${words || "vat"}.sql`;
}

function nextNumber(entries: readonly Entry[]): string {
  const last = entries.reduce(
    (max, { name }) => Math.max(max, Number(form.exec(name)?.[1] ?? 0)),
    0,
  );
  return String(last + 1).padStart(4, "0");
}

/** A path for messages: relative to the working directory when it is inside. */
export function shownPath(path: string): string {
  const from = relative("", path);
  return from.startsWith("..") ? path : from;
}
