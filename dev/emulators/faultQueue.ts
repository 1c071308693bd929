import { z } from "zod";

/** When a fault strikes; part of the schema of each. */
export const faultTiming = {
  /** How often it strikes before it is over. */
  times: z.int().min(1).max(1_000_000).default(1),
  /** So many requests pass before the first one that it strikes. */
  after: z.int().min(0).max(1_000_000).default(0),
};

interface Timed {
  times: number;
  after: number;
}

/** Scripted faults of an emulator that have not happened yet. */
export interface FaultQueue<Fault> {
  add(fault: Fault): void;
  clear(): void;
  pending(): readonly Fault[];
  /** The fault that strikes the request at hand, if one does; `suits` tells which could. */
  strike(suits?: (fault: Fault) => boolean): Fault | null;
}

/** The faults still to come; each request is struck by one at most, the first that was added. */
export function makeFaultQueue<Fault extends Timed>(): FaultQueue<Fault> {
  let pending: Fault[] = [];
  return {
    add: (fault) => void pending.push({ ...fault }),
    clear() {
      pending = [];
    },
    pending: () => pending,
    strike(suits = () => true) {
      for (const fault of pending) {
        if (!suits(fault)) continue;
        if (fault.after > 0) {
          fault.after--;
          continue;
        }
        fault.times--;
        if (fault.times === 0) pending = pending.filter((other) => other !== fault);
        return fault;
      }
      return null;
    },
  };
}
