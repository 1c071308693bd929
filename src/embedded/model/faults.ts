import { z } from "zod";

const common = {
  /** How often it strikes before it is over. */
  times: z.int().min(1).max(1_000_000).default(1),
  /** So many requests pass before the first one that it strikes. */
  after: z.int().min(0).max(1_000_000).default(0),
};
/** How many chunks of the stream come before it strikes. */
const chunks = z.int().min(0).max(1_000_000).default(2);

/** What the model can be told to do wrong. */
export const faultSchema = z.discriminatedUnion("kind", [
  /** Answers with another status, and a Retry-After of seconds or a date. */
  z.strictObject({
    kind: z.literal("status"),
    ...common,
    status: z.int().min(400).max(599),
    retryAfter: z.string().max(60).optional(),
    message: z.string().max(2_000).default("The model was told to fail."),
  }),
  /** Hangs up without a word. */
  z.strictObject({ kind: z.literal("drop"), ...common }),
  /** Waits before it answers, and between the chunks of a stream. */
  z.strictObject({
    kind: z.literal("slow"),
    ...common,
    ms: z.int().min(0).max(600_000).default(0),
    chunkMs: z.int().min(0).max(600_000).default(0),
  }),
  /** Falls silent in the midst of a stream and hangs on. */
  z.strictObject({ kind: z.literal("stall"), ...common, chunks }),
  /** Hangs up in the midst of a stream. */
  z.strictObject({ kind: z.literal("cut"), ...common, chunks }),
  /** Ends a stream in good order, but before its time: without a reason. */
  z.strictObject({ kind: z.literal("unfinished"), ...common, chunks }),
  /** Sends broken JSON in the midst of a stream, or as the whole answer where none was asked for. */
  z.strictObject({ kind: z.literal("malformed"), ...common, chunks }),
  /** Reports an error within the stream, such as the status would tell before it. */
  z.strictObject({
    kind: z.literal("streamError"),
    ...common,
    chunks,
    status: z.int().min(400).max(599).default(500),
    message: z.string().max(2_000).default("The model was told to fail."),
  }),
  /** Answers 200 with a page of HTML. */
  z.strictObject({ kind: z.literal("page"), ...common }),
  /** Answers with nothing. */
  z.strictObject({ kind: z.literal("silence"), ...common }),
  /** Tells of no usage. */
  z.strictObject({ kind: z.literal("noUsage"), ...common }),
  /** Never ends its answer. */
  z.strictObject({ kind: z.literal("endless"), ...common }),
  /** Asks for a tool that nobody offered. */
  z.strictObject({ kind: z.literal("unknownTool"), ...common }),
  /** Asks for a tool with arguments that are no JSON, or not what its schema says. */
  z.strictObject({
    kind: z.literal("wrongArguments"),
    ...common,
    form: z.enum(["json", "schema"]).default("json"),
  }),
  /** Asks for the same look-up again, whatever it gives. */
  z.strictObject({ kind: z.literal("toolLoop"), ...common }),
  /** Says and asks for exactly this, whatever the question: what a model under foreign control could do. */
  z.strictObject({
    kind: z.literal("say"),
    ...common,
    text: z.string().max(1_000_000).default(""),
    calls: z
      .array(z.strictObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()) }))
      .max(200)
      .default([]),
  }),
]);
export type Fault = z.output<typeof faultSchema>;

export interface Faults {
  add(fault: Fault): void;
  clear(): void;
  pending(): readonly Fault[];
  /** The fault that strikes the next request, if one does. */
  strike(): Fault | null;
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
    strike() {
      for (const fault of pending) {
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
