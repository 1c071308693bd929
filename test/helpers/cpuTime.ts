/**
 * CPU time in milliseconds of synchronous work on the current thread.
 * It excludes other processes, and compilation and garbage collection on other threads.
 */
export function cpuTime(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/**
 * Repeats a measurement until it is below `bound`, at most 30 times; returns the minimum.
 * Other processes slow down single measurements; only slow code is slow every time.
 */
export function measureUntilBelow(bound: number, measure: () => number): number {
  let least = measure();
  for (let tries = 1; least >= bound && tries < 30; tries++) least = Math.min(least, measure());
  return least;
}

/** CPU time in milliseconds of the whole process during asynchronous work. */
export async function cpuTimeOfProcess(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * The part of the CPU time of the process that the current thread took during `work`, from 0 to 1.
 * Unlike a number of milliseconds, it is the same on a slow machine.
 */
export async function shareOfThread<T>(
  work: () => Promise<T>,
): Promise<{ result: T; share: number }> {
  const threadBefore = process.threadCpuUsage();
  const processBefore = process.cpuUsage();
  const result = await work();
  const thread = process.threadCpuUsage(threadBefore);
  const all = process.cpuUsage(processBefore);
  return { result, share: (thread.user + thread.system) / (all.user + all.system) };
}
