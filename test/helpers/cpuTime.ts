/**
 * The processor time that a piece of synchronous work takes, in milliseconds: unlike the time on the clock it does not grow
 * when other processes have the machine, so that a bound on it holds on a busy one, too.
 */
export function cpuTime(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The same of work that waits for others in this process, all of whose processor time counts. */
export async function cpuTimeOfProcess(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
