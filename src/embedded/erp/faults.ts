import { z } from "zod";

const common = {
  /** How often it strikes before it is over. */
  times: z.int().min(1).max(1_000_000).default(1),
  /** Strikes requests for this entity set only, or those for tokens (`token`). */
  set: z.string().max(60).optional(),
  /** So many requests pass before the first one that it strikes. */
  after: z.int().min(0).max(1_000_000).default(0),
};

/** What the simulator can be told to do wrong. */
export const faultSchema = z.discriminatedUnion("kind", [
  /** Answers late. */
  z.strictObject({ kind: z.literal("slow"), ...common, ms: z.int().min(0).max(600_000) }),
  /** Answers with another status, and a Retry-After of seconds or a date. */
  z.strictObject({
    kind: z.literal("status"),
    ...common,
    status: z.int().min(400).max(599),
    retryAfter: z.string().max(60).optional(),
  }),
  /** Hangs up in the midst of the answer. */
  z.strictObject({ kind: z.literal("drop"), ...common }),
  /** Ends the answer in the midst of its JSON. */
  z.strictObject({ kind: z.literal("malformed"), ...common }),
  /** Gives the page before once more. */
  z.strictObject({ kind: z.literal("duplicate"), ...common }),
  /** Begins with the last records of the page before. */
  z.strictObject({
    kind: z.literal("overlap"),
    ...common,
    records: z.int().min(1).max(1_000).default(3),
  }),
  /** Changes orders as soon as the answer is made: its last one, and others. */
  z.strictObject({
    kind: z.literal("change"),
    ...common,
    records: z.int().min(1).max(1_000).default(3),
  }),
  /** Links to itself as the next page. */
  z.strictObject({ kind: z.literal("loop"), ...common }),
  /** Links to another place as the next page. */
  z.strictObject({ kind: z.literal("link"), ...common, url: z.string().max(2_000) }),
  /** Sends the records backwards. */
  z.strictObject({ kind: z.literal("disorder"), ...common }),
  /** Sends so much more. */
  z.strictObject({
    kind: z.literal("pad"),
    ...common,
    bytes: z.int().min(1).max(1_000_000_000),
  }),
  /** Redirects elsewhere. */
  z.strictObject({ kind: z.literal("redirect"), ...common, url: z.string().max(2_000) }),
]);
export type Fault = z.output<typeof faultSchema>;

export interface Faults {
  add(fault: Fault): void;
  clear(): void;
  pending(): readonly Fault[];
  /** The fault that strikes this request, if one does. */
  strike(set: string): Fault | null;
}

/** The faults still to come; each request is struck by one at most, the first that was added. */
export function makeFaults(): Faults {
  let pending: Fault[] = [];
  return {
    add: (fault) => void pending.push({ ...fault }),
    clear() {
      pending = [];
    },
    pending: () => pending,
    strike(set) {
      for (const fault of pending) {
        if (fault.set !== undefined ? fault.set !== set : set === "token") continue;
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
