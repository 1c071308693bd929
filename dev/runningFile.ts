import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import {
  type RunningService,
  readRunningService,
  runningServiceFile,
} from "../src/settings/runningService.ts";

/** Writes the server's address and the settings of `env` that this process does not have, readable by this user only. */
export function writeRunningFile(dataDir: string, env: NodeJS.ProcessEnv, url?: string): void {
  const added = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && process.env[entry[0]] !== entry[1],
  );
  const running: RunningService = { pid: process.pid, url, settings: Object.fromEntries(added) };
  const file = runningServiceFile(dataDir);
  // An existing file would keep its mode.
  mkdirSync(dataDir, { recursive: true });
  rmSync(file, { force: true });
  writeFileSync(file, JSON.stringify(running), { mode: 0o600 });
}

/** Removes the file, unless another process wrote it. */
export function removeRunningFile(dataDir: string): void {
  if (readRunningService(dataDir)?.pid === process.pid)
    rmSync(runningServiceFile(dataDir), { force: true });
}
