import type { UIMessageChunk } from "ai";
import { setTimeout } from "node:timers/promises";
import type { Caller } from "../../assistant/caller.ts";
import {
  readUnfinishedAnswer,
  readChunksAfter,
  interruption,
  readMessages,
  endLostAnswer,
} from "../../assistant/conversations.ts";
import { toChunks } from "../../assistant/messages.ts";

const everyMs = 200;

/**
 * The stream of a conversation's answer in progress, from its start, whichever server generates it; null when there is
 * none. It ends when the client has left. An answer that continues a message repeats that message's parts first, since clients rebuild the message.
 */
export async function resumedStream(
  caller: Caller,
  conversationId: string,
): Promise<ReadableStream<UIMessageChunk> | null> {
  const begun = await caller.run(async (client) => {
    const answer = await readUnfinishedAnswer(client, conversationId);
    if (!answer) return null;
    const messages = await readMessages(client, conversationId);
    return { answer, base: messages.find(({ id }) => id === answer.messageId) ?? null };
  });
  if (!begun) return null;
  const { answer, base } = begun;

  const left = new AbortController();
  const iterator = pieces(left.signal);
  return new ReadableStream({
    async pull(stream) {
      const next = await iterator.next();
      if (next.done === true) stream.close();
      else stream.enqueue(next.value);
    },
    // The generator alone would go on until its next chunk.
    cancel: () => left.abort(),
  });

  async function* pieces(signal: AbortSignal): AsyncGenerator<UIMessageChunk> {
    yield { type: "start", messageId: answer.messageId };
    if (base) yield* toChunks(base.parts);
    for (let after = -1; ;) {
      const written = await caller.run((client) => readChunksAfter(client, answer.id, after));
      if (!written) return;
      after = written.last;
      yield* written.chunks.filter(({ type }) => type !== "start");
      if (written.isOver) return;
      if (written.isLost) {
        await endLostAnswer(caller, conversationId);
        yield interruption;
        return;
      }
      await setTimeout(everyMs, undefined, { signal });
    }
  }
}
