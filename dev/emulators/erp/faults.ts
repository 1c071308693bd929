import { z } from "zod";
import { faultTiming } from "../faultQueue.ts";

const common = {
  ...faultTiming,
  /** Applies only to requests for this entity set, or to token requests (`token`). */
  set: z.string().max(60).optional(),
};

/** The faults that `POST /_emulator/faults` adds. */
export const faultSchema = z.discriminatedUnion("kind", [
  /** Delays the response. */
  z.strictObject({ kind: z.literal("slow"), ...common, ms: z.int().min(0).max(600_000) }),
  /** Responds with an error status, and optionally with a Retry-After of seconds or a date. */
  z.strictObject({
    kind: z.literal("status"),
    ...common,
    status: z.int().min(400).max(599),
    retryAfter: z.string().max(60).optional(),
  }),
  /** Closes the connection in the middle of the response. */
  z.strictObject({ kind: z.literal("drop"), ...common }),
  /** Truncates the JSON of the response. */
  z.strictObject({ kind: z.literal("malformed"), ...common }),
  /** Returns the previous page again. */
  z.strictObject({ kind: z.literal("duplicate"), ...common }),
  /** Starts with the last records of the previous page. */
  z.strictObject({
    kind: z.literal("overlap"),
    ...common,
    records: z.int().min(1).max(1_000).default(3),
  }),
  /** Changes orders after the page is read: the last one of the page, and random others. */
  z.strictObject({
    kind: z.literal("change"),
    ...common,
    records: z.int().min(1).max(1_000).default(3),
  }),
  /** Links to itself as the next page. */
  z.strictObject({ kind: z.literal("loop"), ...common }),
  /** Links to another URL as the next page. */
  z.strictObject({ kind: z.literal("link"), ...common, url: z.string().max(2_000) }),
  /** Reverses the order of the records. */
  z.strictObject({ kind: z.literal("disorder"), ...common }),
  /** Contains no records. */
  z.strictObject({ kind: z.literal("empty"), ...common }),
  /** Appends this many spaces to the response. */
  z.strictObject({
    kind: z.literal("pad"),
    ...common,
    bytes: z.int().min(1).max(1_000_000_000),
  }),
  /** Redirects to another URL. */
  z.strictObject({ kind: z.literal("redirect"), ...common, url: z.string().max(2_000) }),
]);
export type Fault = z.output<typeof faultSchema>;

/** Returns a predicate for faults of this entity set, or of token requests (`token`). */
export function matchesSet(set: string): (fault: Fault) => boolean {
  return (fault) => (fault.set === undefined ? set !== "token" : fault.set === set);
}
