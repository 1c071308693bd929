import { z } from "zod";
import { faultTiming } from "../faultQueue.ts";

const common = {
  ...faultTiming,
  /** Strikes requests for this entity set only, or those for tokens (`token`). */
  set: z.string().max(60).optional(),
};

/** What the emulator can be told to do wrong. */
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

/** Whether a fault is one for requests of this entity set, or for tokens (`token`). */
export function strikesSet(set: string): (fault: Fault) => boolean {
  return (fault) => (fault.set === undefined ? set !== "token" : fault.set === set);
}
