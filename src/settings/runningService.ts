import { readFileSync } from "node:fs";
import path from "node:path";

/** The file that `npm start` writes for commands that run beside it. */
export interface RunningService {
  /** The process of `npm start`. */
  pid: number;
  /** The server's address, once it is ready. */
  url?: string;
  /** The settings of its embedded database and emulators. Hold secrets. */
  settings: Record<string, string>;
}

/** Its path; the file exists while `npm start` runs. */
export const runningServiceFile = (dataDir: string) => path.join(dataDir, "running.json");

/**
 * The environment of a command. Outside production, when no database is set, the settings of the running service with
 * the same data folder fill the gaps. Without such a service the environment is unchanged.
 */
export function environmentOfCommand(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const hasDatabase = ["DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_WORKER_URL"].some(
    (name) => environment[name],
  );
  if (environment["NODE_ENV"] === "production" || hasDatabase) return environment;
  const running = readRunningService(path.resolve(environment["DATA_DIR"] || "data"));
  if (!running) return environment;
  const own = Object.entries(environment).filter(([, value]) => value !== "");
  return { ...running.settings, ...Object.fromEntries(own) };
}

/** The service that runs with a data folder; null without one, or when the file is left from a killed service. */
export function readRunningService(dataDir: string): RunningService | null {
  try {
    const text = readFileSync(runningServiceFile(dataDir), "utf8");
    const running = JSON.parse(text) as RunningService;
    return isAlive(running.pid) ? running : null;
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
    // A file that is being written may be incomplete.
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
