import type { DatabaseError } from "pg";
import { shownPath } from "../fileNames.ts";
import { Refusal } from "../refusals.ts";
import type { SqlFile } from "../sources.ts";

/** A failure in a file, with advice beyond PostgreSQL's message. */
export interface Failure {
  error: DatabaseError;
  /** The line, from 1; undefined when unknown. */
  line: number | undefined;
  /** Sentences about the cause and the fix. */
  advice: readonly string[];
}

/** Advice for error codes with a usual cause in SQL files. */
const adviceByCode: Record<string, string> = {
  "25001":
    "Every migration runs in one transaction, and this statement cannot. Write an index without `concurrently`; leave `vacuum` and the like to the operation of the database.",
  "2BP01":
    "Something else still uses it. Change or drop what the lines above name first; `cascade` would drop it unseen.",
  "55P04":
    "A value that was added to an enumeration can be used after the commit, and a run is one transaction: migrate with the file that adds the value first, then with the one that uses it.",
};

/** The message for the author of a failed file: place, PostgreSQL's message, the line itself and the fix. */
export function refusalOf(file: SqlFile, { error, line, advice }: Failure): Refusal {
  const place = `${shownPath(file.path)}${line === undefined ? "" : `:${line}`}`;
  const shown = line === undefined ? undefined : file.text.split("\n")[line - 1]?.trim();
  const hint = error.code === "2BP01" ? undefined : error.hint;
  return new Refusal(
    [
      `${place}: ${error.message}; nothing was changed`,
      ...(shown ? [`  > ${shown.slice(0, 200)}`] : []),
      ...[error.detail, hint, error.where?.split("\n")[0]].flatMap((text) =>
        text ? [`  ${text.replaceAll("\n", "\n  ")}`] : [],
      ),
      ...[...advice, adviceByCode[error.code ?? ""]].flatMap((text) => (text ? [`  ${text}`] : [])),
    ].join("\n"),
    { cause: error },
  );
}

/** The line at a position that counts characters from 1, as PostgreSQL does. */
export function lineAt(text: string, position: number): number {
  const before = Array.from(text).slice(0, position - 1);
  return before.filter((character) => character === "\n").length + 1;
}
