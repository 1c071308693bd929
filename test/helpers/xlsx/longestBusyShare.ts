/**
 * The longest time without a yield, as a share of the CPU time of `work`, so it does not depend on the machine. Code
 * that never yields returns 1.
 */
export async function longestBusyShare(work: () => Promise<unknown>): Promise<number> {
  const time = () => {
    const { user, system } = process.threadCpuUsage();
    return user + system;
  };
  let longest = 0;
  const began = time();
  let last = began;
  let isOn = true;
  const turn = () => {
    const now = time();
    longest = Math.max(longest, now - last);
    last = now;
    if (isOn) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isOn = false;
  const ended = time();
  return Math.max(longest, ended - last) / (ended - began);
}
