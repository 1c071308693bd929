import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A bound that the kernel sets to the memory of all processes that are started in it: who goes beyond is killed. */
export interface MemoryGroup {
  /** What starts a program in it. */
  inside: readonly [string, ...string[]];
  /** How often the kernel killed one. */
  kills(): number;
  remove(): void;
}

/** The two forms in which Linux has it: where groups are made, and the files of a group that hold its bound and its deaths. */
const forms = [
  { root: "/sys/fs/cgroup", bound: "memory.max", deaths: "memory.events" },
  {
    root: "/sys/fs/cgroup/memory",
    bound: "memory.limit_in_bytes",
    deaths: "memory.oom_control",
  },
];

/** Null where this process may not make one: root, where the control groups of memory are mounted to be written. */
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
      // The kernel makes it, where it is one of its folders.
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
