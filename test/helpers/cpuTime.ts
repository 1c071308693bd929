/**
 * The processor time that a piece of synchronous work takes on its own thread, in milliseconds: unlike the time on the clock it
 * does not grow when other processes have the machine, nor by what is compiled or collected beside it.
 */
export function cpuTime(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/**
 * The least of what is measured, again and again until it is below a bound, thirty times at most: a machine that has others to
 * serve may slow down many measurements (its memory and its caches are shared, too), what is slow by itself is so in each.
 */
export function leastUntil(bound: number, measure: () => number): number {
  let least = measure();
  for (let tries = 1; least >= bound && tries < 30; tries++) least = Math.min(least, measure());
  return least;
}

/** The processor time of work that waits for others in this process, whose time counts, too. */
export async function cpuTimeOfProcess(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
