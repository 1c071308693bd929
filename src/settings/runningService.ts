import { readFileSync } from "node:fs";
import path from "node:path";

/** What `npm start` writes for commands that run beside it. */
export interface RunningService {
  /** The process of `npm start`. */
  pid: number;
  /** The settings of its embedded database and emulators. Hold secrets. */
  settings: Record<string, string>;
}

/** The file that `npm start` keeps in its data folder while it runs. */
export const runningServiceFile = (dataDir: string) => path.join(dataDir, "running.json");

/**
 * The environment of a command: outside production and without an own database, the settings of the service that runs with the same
 * data folder fill what is not set. Unchanged where none runs.
 */
export function environmentOfCommand(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const hasDatabase = environment["DATABASE_URL"] || environment["DATABASE_OWNER_URL"];
  if (environment["NODE_ENV"] === "production" || hasDatabase) return environment;
  const running = readRunningService(path.resolve(environment["DATA_DIR"] || "data"));
  if (!running) return environment;
  const given = Object.entries(environment).filter(([, value]) => value !== "");
  return { ...running.settings, ...Object.fromEntries(given) };
}

/** The service that runs with a data folder; null where none does. A file that a killed service left behind counts as none. */
export function readRunningService(dataDir: string): RunningService | null {
  try {
    const text = readFileSync(runningServiceFile(dataDir), "utf8");
    const running = JSON.parse(text) as RunningService;
    return isAlive(running.pid) ? running : null;
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
    // A file that is just being written is cut.
    if (isAbsent || error instanceof SyntaxError) return null;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
