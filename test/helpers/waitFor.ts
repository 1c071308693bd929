import { setTimeout as delay } from "node:timers/promises";

/** Waits until `check` gives something other than undefined or false; fails after `timeoutMs`. */
export async function waitFor<T>(
  what: string,
  check: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 90_000,
): Promise<T> {
  const started = Date.now();
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    const waited = Date.now() - started;
    if (waited > timeoutMs) throw new Error(`waited in vain for: ${what}`);
    // What takes seconds is looked for less often: looking takes time from what is waited for.
    await delay(Math.min(60, 20 + waited / 50));
  }
}

/** Waits until a process has written `text`: what it logs arrives by a pipe, later than what it does can be seen. */
export async function waitForOutput(of: { output(): string }, text: string): Promise<void> {
  await waitFor(`"${text}" in the output`, () => of.output().includes(text));
}
