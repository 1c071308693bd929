import { rm, writeFile } from "node:fs/promises";
import { OperatorError } from "../text/OperatorError.ts";

/**
 * Writes settings to a new file that only this user can read.
 * @throws OperatorError when no file is named or the file exists
 */
export async function writeSettingsFile(
  file: string | undefined,
  lines: readonly string[],
): Promise<void> {
  if (file === undefined)
    throw new OperatorError("--write <file> must name a new file: secrets are not printed");
  try {
    await writeFile(file, `${lines.join("\n")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // On a full disk the file exists, and is empty.
    if (code !== "EEXIST") await rm(file, { force: true });
    throw new OperatorError(
      code === "EEXIST"
        ? `${file} exists already: name another file`
        : `${file} cannot be written (${code})`,
    );
  }
}
