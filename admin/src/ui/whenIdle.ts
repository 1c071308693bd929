/** Runs something when the browser has nothing else to do, or soon where it cannot say so: Safari has no `requestIdleCallback`. */
export function whenIdle(run: () => void): void {
  if ("requestIdleCallback" in globalThis && typeof requestIdleCallback === "function")
    requestIdleCallback(run);
  else setTimeout(run, 200);
}
