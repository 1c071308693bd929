import { rmSync, writeFileSync } from "node:fs";
import {
  type RunningService,
  readRunningService,
  runningServiceFile,
} from "../src/settings/runningService.ts";

/** Writes the settings that `env` has beyond this process's own environment, readable by this user only. */
export function writeRunningFile(dataDir: string, env: NodeJS.ProcessEnv): void {
  const added = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && process.env[entry[0]] !== entry[1],
  );
  const running: RunningService = { pid: process.pid, settings: Object.fromEntries(added) };
  const file = runningServiceFile(dataDir);
  // A file that is there keeps its mode; this one is to have ours.
  rmSync(file, { force: true });
  writeFileSync(file, JSON.stringify(running), { mode: 0o600 });
}

/** Removes the file, unless another process has written its own. */
export function removeRunningFile(dataDir: string): void {
  if (readRunningService(dataDir)?.pid === process.pid)
    rmSync(runningServiceFile(dataDir), { force: true });
}
