import { z } from "zod";
import { faultTiming } from "../faultQueue.ts";

/** How many chunks of the stream come before it strikes. */
const chunks = z.int().min(0).max(1_000_000).default(2);

/** What the model can be told to do wrong. */
export const faultSchema = z.discriminatedUnion("kind", [
  /** Answers with another status, and a Retry-After of seconds or a date. */
  z.strictObject({
    kind: z.literal("status"),
    ...faultTiming,
    status: z.int().min(400).max(599),
    retryAfter: z.string().max(60).optional(),
    message: z.string().max(2_000).default("The model was told to fail."),
  }),
  /** Hangs up without a word. */
  z.strictObject({ kind: z.literal("drop"), ...faultTiming }),
  /** Waits before it answers, and between the chunks of a stream. */
  z.strictObject({
    kind: z.literal("slow"),
    ...faultTiming,
    ms: z.int().min(0).max(600_000).default(0),
    chunkMs: z.int().min(0).max(600_000).default(0),
  }),
  /** Falls silent in the midst of a stream and hangs on. */
  z.strictObject({ kind: z.literal("stall"), ...faultTiming, chunks }),
  /** Hangs up in the midst of a stream. */
  z.strictObject({ kind: z.literal("cut"), ...faultTiming, chunks }),
  /** Ends a stream in good order, but before its time: without a reason. */
  z.strictObject({ kind: z.literal("unfinished"), ...faultTiming, chunks }),
  /** Sends broken JSON in the midst of a stream, or as the whole answer where none was asked for. */
  z.strictObject({ kind: z.literal("malformed"), ...faultTiming, chunks }),
  /** Reports an error within the stream, such as the status would tell before it. */
  z.strictObject({
    kind: z.literal("streamError"),
    ...faultTiming,
    chunks,
    status: z.int().min(400).max(599).default(500),
    message: z.string().max(2_000).default("The model was told to fail."),
  }),
  /** Answers 200 with a page of HTML. */
  z.strictObject({ kind: z.literal("page"), ...faultTiming }),
  /** Answers with nothing. */
  z.strictObject({ kind: z.literal("silence"), ...faultTiming }),
  /** Tells of no usage. */
  z.strictObject({ kind: z.literal("noUsage"), ...faultTiming }),
  /** Never ends its answer. */
  z.strictObject({ kind: z.literal("endless"), ...faultTiming }),
  /** Asks for a tool that nobody offered. */
  z.strictObject({ kind: z.literal("unknownTool"), ...faultTiming }),
  /** Asks for a tool with arguments that are no JSON, or not what its schema says. */
  z.strictObject({
    kind: z.literal("wrongArguments"),
    ...faultTiming,
    form: z.enum(["json", "schema"]).default("json"),
  }),
  /** Repeats the same tool call, regardless of its result. */
  z.strictObject({ kind: z.literal("toolLoop"), ...faultTiming }),
  /** Answers with exactly this text and these calls, as a model under an attacker's control could. */
  z.strictObject({
    kind: z.literal("say"),
    ...faultTiming,
    text: z.string().max(1_000_000).default(""),
    calls: z
      .array(
        z.strictObject({
          // Without one, each call has its own.
          id: z.string().max(200).optional(),
          name: z.string(),
          arguments: z.record(z.string(), z.unknown()),
        }),
      )
      .max(200)
      .default([]),
  }),
]);
export type Fault = z.output<typeof faultSchema>;
