import type { UIMessageChunk } from "ai";
import type { Logger } from "pino";
import { setTimeout } from "node:timers/promises";
import type { Caller } from "./caller.ts";
import { type Part, compact } from "./messages.ts";
import { sanitizeJson } from "./sanitizeJson.ts";

/** How often what was said is written down, and whether the answer is to end is asked. */
const everyMs = 250;
const attempts = 6;

/** How an answer ended. */
export type AnswerState = "done" | "stopped" | "failed" | "interrupted";

/** Writes an answer down while it is given, so that every server can show it, stop it, and tell what became of it. */
export interface AnswerLog {
  push(chunk: UIMessageChunk): void;
  /** Ends the answer with its last pieces and what it comes to. */
  finish(
    state: AnswerState,
    last: readonly UIMessageChunk[],
    parts: readonly Part[],
  ): Promise<void>;
}

interface AnswerLogOptions {
  caller: Caller;
  answerId: string;
  /** Called when the answer is to end: its user said so, or its conversation is gone. */
  onStop: () => void;
  log: Logger;
}

export function keepAnswerLog(options: AnswerLogOptions): AnswerLog {
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
        // Written with the next ones.
        log.warn({ err: error }, "a piece of an answer could not be written down");
      })
      .finally(() => (idle = true));
  }, everyMs);

  async function flush(): Promise<void> {
    const chunks = pending;
    pending = [];
    try {
      const { rows } = await caller.run((client) =>
        client.query<{ stop: boolean }>("select write_ai_chunks($1, $2, $3) as stop", [
          ...[answerId, number, sanitizeJson(compact(chunks))],
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
      const chunks = sanitizeJson(compact([...pending, ...last]));
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
          log.warn({ err: error, attempt }, "the end of an answer could not be written down yet");
          await setTimeout(200 * 2 ** attempt);
        }
      }
    },
  };
}
