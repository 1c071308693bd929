import { z } from "zod";
import { faultTiming } from "../faultQueue.ts";

/** The number of chunks of the stream before the fault. */
const chunks = z.int().min(0).max(1_000_000).default(2);

/** The faults that `POST /_model/faults` adds. */
export const faultSchema = z.discriminatedUnion("kind", [
  /** Responds with an error status, and optionally with a Retry-After of seconds or a date. */
  z.strictObject({
    kind: z.literal("status"),
    ...faultTiming,
    status: z.int().min(400).max(599),
    retryAfter: z.string().max(60).optional(),
    message: z.string().max(2_000).default("The model was told to fail."),
  }),
  /** Closes the connection without a response. */
  z.strictObject({ kind: z.literal("drop"), ...faultTiming }),
  /** Delays the response, and each chunk of a stream. */
  z.strictObject({
    kind: z.literal("slow"),
    ...faultTiming,
    ms: z.int().min(0).max(600_000).default(0),
    chunkMs: z.int().min(0).max(600_000).default(0),
  }),
  /** Stops sending in the middle of a stream and keeps the connection open. */
  z.strictObject({ kind: z.literal("stall"), ...faultTiming, chunks }),
  /** Closes the connection in the middle of the response. */
  z.strictObject({ kind: z.literal("cut"), ...faultTiming, chunks }),
  /** Ends a stream early, without a finish reason. */
  z.strictObject({ kind: z.literal("unfinished"), ...faultTiming, chunks }),
  /** Sends truncated JSON in a chunk of a stream, or as the whole response if it is not streamed. */
  z.strictObject({ kind: z.literal("malformed"), ...faultTiming, chunks }),
  /** Sends an error event in the middle of a stream, and ends it. */
  z.strictObject({
    kind: z.literal("streamError"),
    ...faultTiming,
    chunks,
    status: z.int().min(400).max(599).default(500),
    message: z.string().max(2_000).default("The model was told to fail."),
  }),
  /** Responds 200 with an HTML page. */
  z.strictObject({ kind: z.literal("page"), ...faultTiming }),
  /** Answers with neither text nor tool calls. */
  z.strictObject({ kind: z.literal("silence"), ...faultTiming }),
  /** Omits the usage. */
  z.strictObject({ kind: z.literal("noUsage"), ...faultTiming }),
  /** Streams text without end. */
  z.strictObject({ kind: z.literal("endless"), ...faultTiming }),
  /** Calls a tool that the request does not offer. */
  z.strictObject({ kind: z.literal("unknownTool"), ...faultTiming }),
  /** Calls a tool with arguments that are not JSON, or that violate its schema. */
  z.strictObject({
    kind: z.literal("wrongArguments"),
    ...faultTiming,
    form: z.enum(["json", "schema"]).default("json"),
  }),
  /** Repeats the same tool call, regardless of its result. */
  z.strictObject({ kind: z.literal("toolLoop"), ...faultTiming }),
  /** Answers with this text and these calls, as a model under an attacker's control could. */
  z.strictObject({
    kind: z.literal("say"),
    ...faultTiming,
    text: z.string().max(1_000_000).default(""),
    calls: z
      .array(
        z.strictObject({
          // By default each call gets a unique id.
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
