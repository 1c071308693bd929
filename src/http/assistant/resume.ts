import type { UIMessageChunk } from "ai";
import { setTimeout } from "node:timers/promises";
import type { Caller } from "../../assistant/caller.ts";
import {
  answerUnderWay,
  chunksAfter,
  interruption,
  readMessages,
  settleLost,
} from "../../assistant/conversations.ts";
import { chunksOf } from "../../assistant/messages.ts";

const everyMs = 200;

/**
 * The stream of a conversation's answer in progress, from its start, whichever server generates it; null when there is
 * none. An answer that continues a message repeats that message's parts first, since clients rebuild the message.
 */
export async function resumedStream(
  caller: Caller,
  conversationId: string,
): Promise<ReadableStream<UIMessageChunk> | null> {
  const begun = await caller.run(async (client) => {
    const answer = await answerUnderWay(client, conversationId);
    if (!answer) return null;
    const messages = await readMessages(client, conversationId);
    return { answer, base: messages.find(({ id }) => id === answer.messageId) ?? null };
  });
  if (!begun) return null;
  const { answer, base } = begun;

  async function* pieces(): AsyncGenerator<UIMessageChunk> {
    yield { type: "start", messageId: answer.messageId };
    if (base) yield* chunksOf(base.parts);
    for (let after = -1; ;) {
      const written = await caller.run((client) => chunksAfter(client, answer.id, after));
      if (!written) return;
      after = written.last;
      yield* written.chunks.filter(({ type }) => type !== "start");
      if (written.isOver) return;
      if (written.isLost) {
        await settleLost(caller, conversationId);
        yield interruption;
        return;
      }
      await setTimeout(everyMs);
    }
  }
  return ReadableStream.from(pieces());
}
