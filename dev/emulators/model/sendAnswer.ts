import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Completion } from "./completion.ts";
import type { Dialect, Frame } from "./dialect.ts";
import type { Fault } from "./faults.ts";
import { ModelProblem } from "./problem.ts";

/** Applies the faults that replace the response. Returns true when the response is complete. */
export function applyFault(
  fault: Fault | null,
  response: ServerResponse,
  dialect: Dialect,
): boolean {
  switch (fault?.kind) {
    case "status":
      if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
      refuse(response, new ModelProblem(fault.status, fault.message), dialect);
      return true;
    case "drop":
      response.destroy();
      return true;
    case "page":
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end("<!doctype html><title>Welcome</title><p>You have reached something else.");
      return true;
    default:
      return false;
  }
}

export function refuse(response: ServerResponse, problem: ModelProblem, dialect: Dialect): void {
  sendJson(response, problem.status, dialect.problem(problem));
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(value)}\n`);
}

/** Sends an answer that is not streamed. */
export function sendWhole(
  response: ServerResponse,
  answer: Completion,
  { dialect, fault }: Pick<StreamOptions, "dialect" | "fault">,
): void {
  const { usage, ...rest } = dialect.whole(answer);
  const text = JSON.stringify(fault?.kind === "noUsage" ? rest : { ...rest, usage });
  response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
  if (fault?.kind === "malformed") response.end(text.slice(0, text.length / 2));
  else if (fault?.kind === "cut")
    response.write(text.slice(0, text.length / 2), () => response.destroy());
  else response.end(text);
}

/** How a stream is sent. */
interface StreamOptions {
  dialect: Dialect;
  withUsage: boolean;
  /** Milliseconds between two chunks. */
  chunkMs: number;
  fault: Fault | null;
}

/** Streams an answer until it ends, the client disconnects, or a fault stops it. */
export async function sendStream(
  response: ServerResponse,
  answer: Completion,
  { dialect, withUsage, chunkMs, fault }: StreamOptions,
): Promise<void> {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
  });
  const pause = fault?.kind === "slow" ? fault.chunkMs : chunkMs;
  const options = {
    withUsage: withUsage && fault?.kind !== "noUsage",
    isEndless: fault?.kind === "endless",
  };
  // A comment, as endpoints behind a proxy send it to keep the connection open.
  response.write(": keep-alive\n\n");
  let sent = 0;
  for (const frame of dialect.frames(answer, options)) {
    if (response.destroyed) return;
    if (stopStream(fault, sent, response, dialect)) return;
    const complete = textOf(frame);
    const text =
      fault?.kind === "malformed" && sent === fault.chunks
        ? `${complete.slice(0, complete.length / 2)}\n\n`
        : complete;
    if (!response.write(text)) await drained(response);
    sent++;
    // Yields to the event loop even without a pause, so that a disconnect can stop an endless answer.
    await delay(pause, undefined, { ref: false });
  }
  response.end(dialect.terminator);
}

function textOf({ event, data }: Frame): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

async function drained(response: ServerResponse): Promise<void> {
  await Promise.race([once(response, "drain"), once(response, "close")]);
}

/** Applies the faults that stop a stream after a number of chunks. Returns true when the stream has stopped. */
function stopStream(
  fault: Fault | null,
  sent: number,
  response: ServerResponse,
  dialect: Dialect,
): boolean {
  switch (fault?.kind) {
    case "cut":
      if (sent < fault.chunks) return false;
      response.destroy();
      return true;
    case "stall":
      return sent >= fault.chunks;
    case "unfinished":
      if (sent < fault.chunks) return false;
      response.end();
      return true;
    case "streamError":
      if (sent < fault.chunks) return false;
      response.end(textOf(dialect.problemFrame(new ModelProblem(fault.status, fault.message))));
      return true;
    default:
      return false;
  }
}
