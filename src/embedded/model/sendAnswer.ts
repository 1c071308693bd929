import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Completion } from "./completion.ts";
import { chunksOf, wholeAnswer } from "./completion.ts";
import type { Fault } from "./faults.ts";
import { ModelProblem } from "./problem.ts";

/** The faults that come instead of an answer. True when the response is done with. */
export function strikes(fault: Fault | null, response: ServerResponse): boolean {
  switch (fault?.kind) {
    case "status":
      if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
      refuse(response, new ModelProblem(fault.status, fault.message));
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

export function refuse(response: ServerResponse, problem: ModelProblem): void {
  sendJson(response, problem.status, problem.body());
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(value)}\n`);
}

/** Sends an answer in one. */
export function sendWhole(response: ServerResponse, answer: Completion, fault: Fault | null): void {
  const { usage, ...rest } = wholeAnswer(answer);
  const text = JSON.stringify(fault?.kind === "noUsage" ? rest : { ...rest, usage });
  response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
  if (fault?.kind === "malformed") response.end(text.slice(0, text.length / 2));
  else if (fault?.kind === "cut")
    response.write(text.slice(0, text.length / 2), () => response.destroy());
  else response.end(text);
}

/** How a stream is sent. */
interface StreamOptions {
  withUsage: boolean;
  /** Milliseconds between two chunks. */
  chunkMs: number;
  fault: Fault | null;
}

/** Sends an answer in chunks, for as long as the other side listens; a fault strikes in the midst of it. */
export async function sendStream(
  response: ServerResponse,
  answer: Completion,
  { withUsage, chunkMs, fault }: StreamOptions,
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
  let sent = 0;
  for (const chunk of chunksOf(answer, options)) {
    if (response.destroyed) return;
    if (endsAt(fault, sent, response)) return;
    const data = JSON.stringify(chunk);
    const spoilt =
      fault?.kind === "malformed" && sent === fault.chunks ? data.slice(0, data.length / 2) : data;
    if (!response.write(`data: ${spoilt}\n\n`)) await drained(response);
    sent++;
    // Also without a pause the other side gets its turn, so that an endless answer can be ended.
    await delay(pause, undefined, { ref: false });
  }
  response.end("data: [DONE]\n\n");
}

async function drained(response: ServerResponse): Promise<void> {
  await Promise.race([once(response, "drain"), once(response, "close")]);
}

/** Whether the stream goes no further because of a fault that strikes after so many chunks. */
function endsAt(fault: Fault | null, sent: number, response: ServerResponse): boolean {
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
      response.end(`data: ${JSON.stringify(new ModelProblem(500, fault.message).body())}\n\n`);
      return true;
    default:
      return false;
  }
}
