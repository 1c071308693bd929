import type { Response } from "express";
import type { Answer } from "./answer.ts";
import type { Turn } from "./conversation.ts";
import { ModelProblem } from "./conversation.ts";
import type { Dialect } from "./dialect.ts";

interface StreamFault {
  /**
   * `stall` sends nothing more, and `cut` closes the connection. The others end the stream: `unfinished` without a finish
   * reason, `malformed` with truncated JSON, `streamError` with an error event.
   */
  kind: "stall" | "cut" | "unfinished" | "malformed" | "streamError";
  /** The number of chunks before the fault. */
  chunks: number;
  status?: number;
  message?: string;
}

export type Fault = { times?: number } & (
  | { kind: "status"; status: number; retryAfter?: string; message?: string }
  /** Closes the connection without a response. */
  | { kind: "drop" }
  /** Responds 200 with an HTML page. */
  | { kind: "page" }
  /** Delays the response, and each chunk of the stream. */
  | { kind: "slow"; ms?: number; chunkMs?: number }
  /** Omits the usage, where the protocol allows it. */
  | { kind: "noUsage" }
  /** Writes far more than the maximum number of tokens. */
  | { kind: "endless" }
  | StreamFault
);

/** What a test has scripted for the next requests: a turn or a fault. */
export type Scripted = { times: number; after: number } & (Fault | ({ kind: "say" } & Turn));

const defaultMessage = "The model was told to fail.";

/**
 * Applies a fault that replaces the response. Returns whether it did.
 * @throws ModelProblem for an error status
 */
export function replaceResponse(response: Response, fault: Scripted | null): boolean {
  switch (fault?.kind) {
    case "status":
      if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
      throw new ModelProblem(fault.status, fault.message ?? defaultMessage);
    case "drop":
      response.destroy();
      return true;
    case "page":
      response.type("html").send("<!doctype html><title>Welcome</title>");
      return true;
    default:
      return false;
  }
}

/** Applies a fault that changes the answer. */
export function changeAnswer(answer: Answer, fault: Scripted | null): Answer {
  switch (fault?.kind) {
    case "noUsage":
      return { ...answer, withUsage: false };
    case "endless":
      return { ...answer, words: Array<string>(50_000).fill("and so on "), calls: [] };
    default:
      return answer;
  }
}

/** Applies a fault that stops the stream. */
export function stopStream(response: Response, fault: StreamFault, dialect: Dialect): void {
  const { kind, status = 500, message = defaultMessage } = fault;
  if (kind === "cut") response.destroy();
  if (kind === "unfinished") response.end();
  if (kind === "malformed") response.end('data: {"half": \n\n');
  if (kind === "streamError")
    response.end(dialect.chunk(dialect.problem(new ModelProblem(status, message))));
}
