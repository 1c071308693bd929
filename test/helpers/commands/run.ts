import { execFile } from "node:child_process";
import { join } from "node:path";
import { compileCache, programPath } from "../environment.ts";

const root = join(import.meta.dirname, "../../..");

/** The result of a command. */
export interface Outcome {
  code: number;
  /** Standard output followed by standard error. */
  output: string;
}

/** Runs a command script in a separate Node process. */
export function runCommand(
  script: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(root, script), ...args],
      { cwd: root, env: { PATH: programPath, ...compileCache, ...env } },
      (error, stdout, stderr) =>
        resolve({
          code: error ? Number(error.code ?? 1) : 0,
          output: stdout + stderr,
        }),
    );
  });
}
