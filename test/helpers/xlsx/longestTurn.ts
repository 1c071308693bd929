/**
 * The longest that this thread computed without giving way, as a share of all that it computed for `work`: neither other processes nor
 * a slow machine change it. What never gives way has 1.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
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
