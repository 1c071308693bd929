import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The path of a program in the folders of `PATH`; null when there is none. */
export function findProgram(program: string): string | null {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return (
    folders
      .map((folder) => join(folder, program))
      .find((path) => {
        try {
          accessSync(path, constants.X_OK);
          return true;
        } catch {
          return false;
        }
      }) ?? null
  );
}
