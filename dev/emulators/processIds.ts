import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Identifies a process even when its ID is reused. `born` is its start time in the format of the operating system,
 * an opaque string for comparison only.
 */
export interface ProcessId {
  pid: number;
  startedAt: string;
}

const pollMs = 15;

/** The running process with this ID; undefined when there is none, or only a zombie. */
export function identifyProcess(pid: number): ProcessId | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const found = process.platform === "linux" ? statFromProc(pid) : statFromPs(pid);
  if (found === undefined || /^[ZX]/.test(found.state)) return undefined;
  return { pid, startedAt: found.startedAt };
}

/** Whether exactly this process still runs. */
function isRunning(id: ProcessId): boolean {
  return identifyProcess(id.pid)?.startedAt === id.startedAt;
}

/** The command line of a process, its arguments separated by a space; empty when the process has ended. */
export function commandLine(pid: number): string {
  try {
    if (process.platform === "linux") {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    }
    return ps(pid, "command=");
  } catch {
    return "";
  }
}

/** The working directory of a process; undefined where the operating system has no /proc. */
export function workingFolder(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** Waits until the process is gone. Returns false when it still runs after `timeoutMs`. */
async function waitUntilGone(id: ProcessId, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isRunning(id)) {
    if (Date.now() > deadline) return false;
    await delay(pollMs);
  }
  return true;
}

/**
 * Stops a PostgreSQL server: by a fast shutdown (SIGINT), after `fastShutdownMs` by an immediate one (SIGQUIT), and
 * then by SIGKILL. Resolves when the process has ended.
 */
export async function endPostgres(id: ProcessId, fastShutdownMs = 20_000): Promise<void> {
  for (const [signal, wait] of [
    ["SIGINT", fastShutdownMs],
    ["SIGQUIT", 5_000],
    ["SIGKILL", 5_000],
  ] as const) {
    if (!isRunning(id)) return;
    sendSignal(id.pid, signal);
    if (await waitUntilGone(id, wait)) return;
  }
  throw new Error(`the PostgreSQL server (process ${id.pid}) does not end, even when killed`);
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // The process ended between the check and the signal.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function statFromProc(pid: number): { state: string; startedAt: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", startedAt: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

function statFromPs(pid: number): { state: string; startedAt: string } | undefined {
  try {
    const [state = "", ...startedAt] = ps(pid, "stat=,lstart=").split(/\s+/);
    return { state, startedAt: startedAt.join(" ") };
  } catch {
    return undefined;
  }
}

function ps(pid: number, columns: string): string {
  const output = execFileSync("ps", ["-ww", "-o", columns, "-p", String(pid)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return output.trim();
}
