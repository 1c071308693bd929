import { z } from "zod";

/** What the receiver does instead of answering well, for the next calls. */
export const faultSchema = z.strictObject({
  kind: z.enum(["error", "busy", "refuse", "redirect", "drop", "slow", "flood"], {
    error: "must be error, busy, refuse, redirect, drop, slow or flood",
  }),
  /** For how many calls. */
  times: z.int().min(1).max(1_000_000).default(1),
  /** What a busy receiver asks for, as its header `Retry-After` says it. */
  retryAfter: z.string().max(100).optional(),
  /** How long a slow one waits before it answers. */
  delayMs: z.int().min(0).max(600_000).default(1_000),
});

export type Fault = z.output<typeof faultSchema>;

/** The fault that is in force. */
export interface Faults {
  set(fault: Fault | null): void;
  /** The fault for one more call; null when all is well. */
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
