import { randomUUID } from "node:crypto";
import { APICallError, InvalidResponseDataError } from "ai";
import type { LanguageModelMiddleware } from "ai";
import { z } from "zod";
import { ModelError, type ModelProblem } from "./model.ts";

type WrapStream = NonNullable<LanguageModelMiddleware["wrapStream"]>;
/** A streamed response and one of its parts. */
type ModelAnswer = Awaited<ReturnType<WrapStream>>;
type ModelPart = ModelAnswer["stream"] extends ReadableStream<infer Part> ? Part : never;

interface StreamOptions {
  /** The caller's abort signal. */
  signal: AbortSignal;
  /** The longest time without a part. */
  idleTimeoutMs: number;
}

/**
 * Starts reading a response and returns after its first part, so that an earlier failure can be retried. Failures
 * become ModelError, also later ones; the caller's abort keeps its reason.
 */
export async function beginStream(
  start: (signal: AbortSignal) => PromiseLike<ModelAnswer>,
  { signal, idleTimeoutMs }: StreamOptions,
): Promise<ModelAnswer> {
  const idle = new AbortController();
  const either = AbortSignal.any([signal, idle.signal]);
  const listen = <T>(work: PromiseLike<T>): Promise<T> =>
    withIdleTimeout(work, idle, idleTimeoutMs, signal);

  const withOwnId = makeCallIds();
  let isFinished = false;
  const result = await listen(start(either)).catch((error: unknown) => {
    throw translate(error);
  });
  const reader = result.stream.getReader();
  const read = async (): Promise<ModelPart | null> => {
    const { done, value } = await listen(reader.read());
    // A response without a finish reason was cut off; some libraries then omit the final part.
    if (done && !isFinished) throw new ModelError("unreachable");
    if (done) return null;
    if (value.type === "error") throw toModelError(value.error, problemIn(value.error));
    if (value.type === "finish" && value.finishReason.raw === undefined)
      throw new ModelError("unreachable");
    isFinished ||= value.type === "finish";
    return withOwnId(value);
  };

  const head: ModelPart[] = [];
  try {
    for (;;) {
      const part = await read();
      if (part === null) throw new ModelError("nonsense");
      head.push(part);
      if (!["stream-start", "response-metadata"].includes(part.type)) break;
    }
  } catch (error) {
    idle.abort(error);
    throw translate(error);
  }

  const stream = new ReadableStream<ModelPart>({
    start(controller) {
      for (const part of head) controller.enqueue(part);
    },
    async pull(controller) {
      try {
        const part = await read();
        if (part === null) controller.close();
        else controller.enqueue(part);
      } catch (error) {
        idle.abort(error);
        if (signal.aborted) controller.error(signal.reason);
        else controller.enqueue({ type: "error", error: translate(error) });
        if (!signal.aborted) controller.close();
      }
    },
    cancel(reason) {
      idle.abort(reason);
      return reader.cancel(reason);
    },
  });
  return { ...result, stream };

  function translate(error: unknown): unknown {
    if (signal.aborted) return signal.reason;
    return toModelError(error);
  }
}

/** Assigns a unique id to each tool call. Some models repeat ids, and approvals are stored by id. */
function makeCallIds(): (part: ModelPart) => ModelPart {
  const ids = new Map<string, string>();
  const ownId = (providerId: string) => {
    const id = ids.get(providerId) ?? `call_${randomUUID()}`;
    ids.set(providerId, id);
    return id;
  };
  return (part) => {
    switch (part.type) {
      case "tool-input-start":
      case "tool-input-delta":
      case "tool-input-end":
        return { ...part, id: ownId(part.id) };
      case "tool-call":
        return { ...part, toolCallId: ownId(part.toolCallId), input: boundInput(part.input) };
      default:
        return part;
    }
  };
}

/** As deep as the body of a request may be. JSON of some thousand levels could not be written again. */
const depthLimit = 50;

/** The arguments of a tool call as JSON, without those that are nested too deeply: no tool takes them. */
function boundInput(input: string): string {
  try {
    // Text that is not JSON is refused with a message to the model.
    return isDeeperThan(JSON.parse(input), depthLimit) ? "nested too deeply" : input;
  } catch {
    return input;
  }
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((one) => isDeeperThan(one, depth - 1));
}

/** Waits for `work`, and aborts the call after `idleTimeoutMs` without a part. */
async function withIdleTimeout<T>(
  work: PromiseLike<T>,
  idle: AbortController,
  idleTimeoutMs: number,
  signal: AbortSignal,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new ModelError("slow");
    reject(error);
    idle.abort(error);
  }, idleTimeoutMs);
  const leave = () => {
    reject(signal.reason as Error);
  };
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}

/** How `fetch` reports that there is no connection or that it was lost. */
function isConnectionError(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "name" in error && error.name === "TypeError"
  );
}

/** Classifies an error inside a response, where providers report errors in the form of a rejection. */
function problemIn(error: unknown): ModelProblem {
  // InvalidResponseDataError means a response without a finish reason: the connection was lost.
  if (isConnectionError(error) || InvalidResponseDataError.isInstance(error)) return "unreachable";
  const { type, code } = reportSchema.safeParse(error).data ?? {};
  const codes = `${type ?? ""} ${code ?? ""}`;
  if (/rate_limit|overloaded|\b(429|529)\b/.test(codes)) return "busy";
  return /server_error|api_error|timeout|\b5\d\d\b/.test(codes) ? "unreachable" : "nonsense";
}

const reportSchema = z.object({
  type: z.string().nullish().catch(null),
  code: z.union([z.string(), z.number()]).nullish().catch(null),
});

/** Converts an error to one whose message callers may read. */
export function toModelError(error: unknown, otherwise: ModelProblem = "unreachable"): ModelError {
  if (error instanceof ModelError) return error;
  if (APICallError.isInstance(error)) {
    const { statusCode: status } = error;
    // 529 is Anthropic's status for overload.
    if (status === 429 || status === 529) return new ModelError("busy", { cause: error });
    if (status !== undefined && status >= 400 && status < 500 && status !== 408)
      return new ModelError("refused", { cause: error });
    // With such a cause, the connection was lost during a valid response.
    const cut = isConnectionError(error.cause);
    if (status !== undefined && status < 300 && !cut)
      return new ModelError("nonsense", { cause: error });
    return new ModelError("unreachable", { cause: error });
  }
  return new ModelError(otherwise, { cause: error });
}
