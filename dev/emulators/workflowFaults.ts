import { z } from "zod";

/** A fault of the receiver for the next calls. */
export const faultSchema = z.strictObject({
  kind: z.enum(["error", "busy", "refuse", "redirect", "drop", "slow", "flood"], {
    error: "must be error, busy, refuse, redirect, drop, slow or flood",
  }),
  /** Number of calls. */
  times: z.int().min(1).max(1_000_000).default(1),
  /** The header `Retry-After` of a busy receiver. */
  retryAfter: z.string().max(100).optional(),
  /** Delay of a slow response. */
  delayMs: z.int().min(0).max(600_000).default(1_000),
});

export type Fault = z.output<typeof faultSchema>;

/** The active fault. */
export interface Faults {
  set(fault: Fault | null): void;
  /** Takes the fault for one call; null if none is active. */
  take(): Fault | null;
  current(): Fault | null;
}

export function makeFaults(): Faults {
  let fault: Fault | null = null;
  return {
    set: (wanted) => (fault = wanted),
    current: () => fault,
    take() {
      const taken = fault;
      if (fault) fault = fault.times > 1 ? { ...fault, times: fault.times - 1 } : null;
      return taken;
    },
  };
}
