import { setTimeout as delay } from "node:timers/promises";

/** Polls `check` until it returns neither undefined nor false; throws after `timeoutMs`. */
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
    if (waited > timeoutMs) throw new Error(`timed out waiting for ${what}`);
    // Polls less often over time, because polling slows down the awaited work.
    await delay(Math.min(60, 20 + waited / 50));
  }
}

/** Waits until a process has written `text`. Log lines arrive through a pipe, later than their effects. */
export async function waitForOutput(of: { output(): string }, text: string): Promise<void> {
  await waitFor(`"${text}" in the output`, () => of.output().includes(text));
}
