import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A cgroup with a memory limit. The kernel kills processes that exceed it. */
export interface MemoryGroup {
  /** Command prefix that starts a program in the group. */
  inside: readonly [string, ...string[]];
  /** The number of processes that the kernel killed. */
  kills(): number;
  remove(): void;
}

/** cgroup v2 and v1: the root folder, and the files with the limit and the kill count. */
const forms = [
  { root: "/sys/fs/cgroup", bound: "memory.max", deaths: "memory.events" },
  {
    root: "/sys/fs/cgroup/memory",
    bound: "memory.limit_in_bytes",
    deaths: "memory.oom_control",
  },
];

/** Null if no group can be created, which requires root and a writable memory cgroup. */
export function makeMemoryGroup(megabytes: number): MemoryGroup | null {
  for (const { root, bound, deaths } of forms) {
    const folder = join(root, `office-test-${randomUUID()}`);
    try {
      mkdirSync(folder);
    } catch {
      continue;
    }
    const remove = () => rmdirSync(folder);
    try {
      // Only the kernel creates this file, in a cgroup folder.
      if (!existsSync(join(folder, bound))) throw new Error("not a control group");
      writeFileSync(join(folder, bound), String(megabytes * 1024 * 1024));
    } catch {
      remove();
      continue;
    }
    const members = join(folder, "cgroup.procs");
    return {
      inside: ["/bin/sh", "-c", `echo $$ > ${members} && exec "$@"`, "sh"],
      kills: () =>
        Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(folder, deaths), "utf8"))?.[1] ?? 0),
      remove,
    };
  }
  return null;
}
