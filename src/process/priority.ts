import { writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";

/** The kernel refuses another change within 100 ms. In milliseconds. */
const retryMs = 150;

/**
 * Lowers the priority of another process of this user, which leads a session, so that requests get the processor first. Does
 * nothing where the system forbids it.
 */
export function lowerPriority(pid: number): void {
  const nice = constants.priority.PRIORITY_BELOW_NORMAL;
  try {
    setPriority(pid, nice);
    // Linux can schedule by session first; a process's own priority then counts only within its session (sched(7)).
    writeFileSync(`/proc/${pid}/autogroup`, String(nice), { flag: "r+" });
  } catch (error) {
    // EAGAIN: the group was changed a moment ago. All others: the process is gone, not ours, or the system has no such groups.
    const isBusy = error instanceof Error && "code" in error && error.code === "EAGAIN";
    if (isBusy) setTimeout(lowerPriority, retryMs, pid).unref();
  }
}
