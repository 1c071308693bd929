import { execFile } from "node:child_process";
import { join } from "node:path";
import { compileCache, programPath } from "../environment.ts";

const root = join(import.meta.dirname, "../../..");

/** What a command came to. */
export interface Outcome {
  code: number;
  /** What it wrote, both streams. */
  output: string;
}

/** Runs a command as its npm script does. */
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
