import { setTimeout as delay } from "node:timers/promises";
import type { Response } from "express";
import type { Answer } from "./answer.ts";
import type { Dialect } from "./dialect.ts";
import type { Scripted } from "./faults.ts";
import { stopStream } from "./faults.ts";

interface StreamOptions {
  dialect: Dialect;
  /** Milliseconds between two chunks. */
  chunkMs: number;
  fault: Scripted | null;
}

/** Streams an answer until it ends, the client disconnects, or a fault stops it. */
export async function sendStream(
  response: Response,
  answer: Answer,
  { dialect, chunkMs, fault }: StreamOptions,
): Promise<void> {
  response.type("text/event-stream").setHeader("cache-control", "no-store");
  // A comment, as endpoints behind a proxy send it to keep the connection open.
  response.write(": keep-alive\n\n");
  const pause = (fault?.kind === "slow" ? fault.chunkMs : undefined) ?? chunkMs;
  let sent = 0;
  for (const chunk of dialect.chunks(answer)) {
    if (response.destroyed) return;
    if (fault && "chunks" in fault && fault.chunks === sent) {
      stopStream(response, fault, dialect);
      return;
    }
    response.write(chunk);
    sent++;
    // Yields to the event loop even without a pause, so that a disconnect can stop a long answer.
    await delay(pause, undefined, { ref: false });
  }
  response.end();
}
