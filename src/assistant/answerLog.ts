import type { UIMessageChunk } from "ai";
import type { Logger } from "pino";
import { setTimeout } from "node:timers/promises";
import type { Caller } from "./caller.ts";
import { type Part, mergeDeltas } from "./messages.ts";
import { sanitizeJson } from "./sanitizeJson.ts";

/** The interval of writing chunks and of checking whether the answer must stop. */
const everyMs = 250;
const attempts = 6;

export type AnswerState = "done" | "stopped" | "failed" | "interrupted";

/** Stores an answer while it is generated, so that every process can show it, stop it and report its end. */
export interface AnswerLog {
  push(chunk: UIMessageChunk): void;
  /** Ends the answer with its last chunks and its final parts. */
  finish(
    state: AnswerState,
    last: readonly UIMessageChunk[],
    parts: readonly Part[],
  ): Promise<void>;
}

interface AnswerLogOptions {
  caller: Caller;
  answerId: string;
  /** Called when the user stops the answer or deletes the conversation. */
  onStop: () => void;
  log: Logger;
}

export function startAnswerLog(options: AnswerLogOptions): AnswerLog {
  const { caller, answerId, onStop, log } = options;
  let pending: UIMessageChunk[] = [];
  let number = 0;
  let writing: Promise<void> = Promise.resolve();
  let idle = true;
  const timer = setInterval(() => {
    if (!idle) return;
    idle = false;
    writing = flush()
      .catch((error: unknown) => {
        // They are written with the next chunks.
        log.warn({ err: error }, "answer chunk storing failed");
      })
      .finally(() => (idle = true));
  }, everyMs);

  async function flush(): Promise<void> {
    const chunks = pending;
    pending = [];
    try {
      const { rows } = await caller.run((client) =>
        client.query<{ stop: boolean }>("select write_ai_chunks($1, $2, $3) as stop", [
          ...[answerId, number, sanitizeJson(mergeDeltas(chunks))],
        ]),
      );
      number++;
      if (rows[0]?.stop) onStop();
    } catch (error) {
      pending = [...chunks, ...pending];
      throw error;
    }
  }

  return {
    push: (chunk) => {
      pending.push(chunk);
    },
    async finish(state, last, parts) {
      clearInterval(timer);
      await writing;
      const chunks = sanitizeJson(mergeDeltas([...pending, ...last]));
      for (let attempt = 1; ; attempt++) {
        try {
          await caller.run(async (client) => {
            await client.query("select write_ai_chunks($1, $2, $3)", [answerId, number, chunks]);
            await client.query("select finish_ai_answer($1, $2, $3)", [
              ...[answerId, state, sanitizeJson(parts)],
            ]);
          });
          return;
        } catch (error) {
          if (attempt === attempts) throw error;
          log.warn({ err: error, attempt }, "answer end storing failed");
          await setTimeout(200 * 2 ** attempt);
        }
      }
    },
  };
}
