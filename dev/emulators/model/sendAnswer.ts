import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Completion } from "./completion.ts";
import type { Dialect, Frame } from "./dialect.ts";
import type { Fault } from "./faults.ts";
import { ModelProblem } from "./problem.ts";

/** The faults that come instead of an answer. True when the response is done with. */
export function strikes(fault: Fault | null, response: ServerResponse, dialect: Dialect): boolean {
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

/** Sends an answer in one. */
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

/** Sends an answer in chunks, for as long as the other side listens; a fault strikes in the midst of it. */
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
  // As endpoints behind a proxy do, so that the connection is known to live.
  response.write(": keep-alive\n\n");
  let sent = 0;
  for (const frame of dialect.frames(answer, options)) {
    if (response.destroyed) return;
    if (endsAt(fault, sent, response, dialect)) return;
    const written = textOf(frame);
    const spoilt =
      fault?.kind === "malformed" && sent === fault.chunks
        ? `${written.slice(0, written.length / 2)}\n\n`
        : written;
    if (!response.write(spoilt)) await drained(response);
    sent++;
    // Also without a pause the other side gets its turn, so that an endless answer can be ended.
    await delay(pause, undefined, { ref: false });
  }
  response.end(dialect.last);
}

function textOf({ event, data }: Frame): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

async function drained(response: ServerResponse): Promise<void> {
  await Promise.race([once(response, "drain"), once(response, "close")]);
}

/** Whether the stream goes no further because of a fault that strikes after so many chunks. */
function endsAt(
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
