import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/**
 * A process that cannot be mistaken for a later one with the same number: `born` is the moment it
 * started, as the operating system tells it (an opaque text, only to be compared).
 */
export interface ProcessId {
  pid: number;
  born: string;
}

const pollMs = 15;

/** The running process with this number, or undefined when there is none (or only its zombie). */
export function identifyProcess(pid: number): ProcessId | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const found = process.platform === "linux" ? statFromProc(pid) : statFromPs(pid);
  if (found === undefined || /^[ZX]/.test(found.state)) return undefined;
  return { pid, born: found.born };
}

/** Whether exactly this process still runs. */
function isRunning(id: ProcessId): boolean {
  return identifyProcess(id.pid)?.born === id.born;
}

/** The command line of a process, its words separated by one blank; empty when it is gone. */
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

/** The folder a process works in, where the operating system tells it. */
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
 * Ends a PostgreSQL server: a fast shutdown (SIGINT) first, an immediate one (SIGQUIT) after
 * `patienceMs`, and SIGKILL when even that does not end it. Resolves when the process is gone.
 */
export async function endPostgres(id: ProcessId, patienceMs = 20_000): Promise<void> {
  for (const [signal, wait] of [
    ["SIGINT", patienceMs],
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
    // Gone between the check and the signal: what was wanted.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function statFromProc(pid: number): { state: string; born: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in brackets and may hold blanks and brackets itself.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", born: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

function statFromPs(pid: number): { state: string; born: string } | undefined {
  try {
    const [state = "", ...born] = ps(pid, "stat=,lstart=").split(/\s+/);
    return { state, born: born.join(" ") };
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
