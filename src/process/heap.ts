import { readFileSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { constants, getPriority, setPriority } from "node:os";
import { setFlagsFromString } from "node:v8";
import type { ClientBase } from "pg";

// What Node, V8 and the system are told of our processes.

/**
 * What a server and a worker are to be started with. One thread that helps V8 with its garbage and its compiling, instead of four: where
 * the processors are busy, each of them takes as much of these as the thread that answers. And 16 MB for each half of the room for new
 * objects: with plenty of memory V8 takes 64, and all stands still while what lives of that is copied (`bench/RESULTS.md`).
 * Neither can be set later.
 */
export const nodeFlags: readonly string[] = ["--v8-pool-size=1", "--max-semi-space-size=16"];

/** How much a heap may grow over what lives before all of it is collected, in percent of that. */
const growthPercent = 50;

/**
 * Has this process collect its garbage before the heap is more than half as large again as what lives. Left alone, V8 was seen to fill 434 MB
 * over 90 that live, and the process kept what it had taken. And has V8 leave old objects where they are: moving them together is
 * done while all stands still, and left a server no smaller (`bench/RESULTS.md`). To be called before the heap is filled.
 */
export function tuneHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  setFlagsFromString("--no-compact");
}

/** How long to wait before the kernel is asked again, in milliseconds: it lets a tenth of a second pass between two wishes. */
const busyMs = 150;

/**
 * Has another process of this user, which is in a session of its own, step back where the processors are busy: nobody waits for it as for an
 * answer. Where the system does not let it, the process runs as any other.
 */
export function lowerPriority(pid: number): void {
  const nice = constants.priority.PRIORITY_BELOW_NORMAL;
  try {
    setPriority(pid, nice);
    // Linux may share processors out among sessions first; what a process is worth then counts within its own only (sched(7)).
    writeFileSync(`/proc/${pid}/autogroup`, String(nice), { flag: "r+" });
  } catch (error) {
    // Others who are not root have just asked. Anything else: gone already, forbidden, or no such groups.
    const isBusy = error instanceof Error && "code" in error && error.code === "EAGAIN";
    if (isBusy) setTimeout(lowerPriority, busyMs, pid).unref();
  }
}

/** What `pg` knows of a connection; its published types do not tell. */
interface Reached {
  processID: number | null;
  connection: { stream: Socket };
}

/**
 * Has the process of the database that serves a connection step back as well where this process has been made to, and both are on one
 * machine: what it does there is this one's work.
 */
export function lowerDatabasePriority(client: ClientBase): void {
  if (getPriority() < constants.priority.PRIORITY_BELOW_NORMAL) return;
  const { processID, connection } = client as unknown as Reached;
  const { localPort } = connection.stream;
  if (processID === null || localPort === undefined) return;
  try {
    // On another machine the number is some other process's. PostgreSQL's tells whom it serves.
    const title = readFileSync(`/proc/${processID}/cmdline`, "utf8");
    if (title.startsWith("postgres: ") && title.includes(`(${localPort}) `))
      lowerPriority(processID);
  } catch {
    // Not on this machine, or not to be seen.
  }
}
