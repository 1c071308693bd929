/** Calls a function when the browser is idle; in Safari, which has no `requestIdleCallback`, after a short delay. */
export function whenIdle(run: () => void): void {
  if ("requestIdleCallback" in globalThis && typeof requestIdleCallback === "function")
    requestIdleCallback(run);
  else setTimeout(run, 200);
}
