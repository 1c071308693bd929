import { z } from "zod";

/** When a fault applies. Part of the schema of every fault. */
export const faultTiming = {
  /** The number of requests that get the fault. */
  times: z.int().min(1).max(1_000_000).default(1),
  /** The number of matching requests to let pass first. */
  after: z.int().min(0).max(1_000_000).default(0),
};

interface Timed {
  times: number;
  after: number;
}

/** The faults of an emulator that have not applied yet. */
export interface FaultQueue<Fault> {
  add(fault: Fault): void;
  clear(): void;
  pending(): readonly Fault[];
  /** Takes the fault of the current request, or null. `matches` limits the faults to those that fit the request. */
  take(matches?: (fault: Fault) => boolean): Fault | null;
}

/** A request gets at most one fault: the first one that was added. */
export function makeFaultQueue<Fault extends Timed>(): FaultQueue<Fault> {
  let pending: Fault[] = [];
  return {
    add: (fault) => void pending.push({ ...fault }),
    clear() {
      pending = [];
    },
    pending: () => pending,
    take(matches = () => true) {
      for (const fault of pending) {
        if (!matches(fault)) continue;
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
