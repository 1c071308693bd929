import { writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";

/** The kernel rejects a second change within 100 ms. */
const retryMs = 150;

/**
 * Lowers the priority of another process of this user, which must be a session leader, so that requests are served first.
 * Does nothing if the system forbids it.
 */
export function lowerPriority(pid: number): void {
  const nice = constants.priority.PRIORITY_BELOW_NORMAL;
  try {
    setPriority(pid, nice);
    // With autogrouping, a process's own priority matters only within its session (sched(7)).
    writeFileSync(`/proc/${pid}/autogroup`, String(nice), { flag: "r+" });
  } catch (error) {
    // EAGAIN: the group was changed within 100 ms. Other errors: no such process, no permission, or no autogrouping.
    const isBusy = error instanceof Error && "code" in error && error.code === "EAGAIN";
    if (isBusy) setTimeout(lowerPriority, retryMs, pid).unref();
  }
}
