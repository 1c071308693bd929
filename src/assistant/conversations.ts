import type { UIMessage, UIMessageChunk } from "ai";
import type { PoolClient } from "pg";
import type { Caller } from "./caller.ts";
import { type Part, assemble, note, settled } from "./messages.ts";

/** An answer that is on its way somewhere. */
export interface AnswerUnderWay {
  id: string;
  messageId: string;
  /** Whether the server that made it gives no sign of life any more. */
  isLost: boolean;
}

/** What is said of an answer whose server was lost or stopped. */
export const interruption = note(
  "interrupted",
  "The answer was interrupted, because the server that gave it stopped. What you see is what there was; ask again for the rest.",
);

/** The messages of a conversation of the caller's, in their order. */
export async function readMessages(client: PoolClient, id: string): Promise<UIMessage[]> {
  const { rows } = await client.query<{ id: string; role: UIMessage["role"]; parts: Part[] }>(
    "select id, role, parts from ai_messages where conversation_id = $1 order by position",
    [id],
  );
  return rows;
}

/** The answer that is on its way in a conversation of the caller's; null when there is none. */
export async function answerUnderWay(
  client: PoolClient,
  conversationId: string,
): Promise<AnswerUnderWay | null> {
  const { rows } = await client.query<{ id: string; message_id: string; is_lost: boolean }>(
    "select * from running_ai_answer($1)",
    [conversationId],
  );
  const [row] = rows;
  return row ? { id: row.id, messageId: row.message_id, isLost: row.is_lost } : null;
}

/** The pieces of an answer from a number on, and how it stands; null when it is gone. */
export async function chunksAfter(client: PoolClient, answerId: string, after: number) {
  const { rows } = await client.query<{
    number: number | null;
    chunks: UIMessageChunk[] | null;
    is_over: boolean;
    is_lost: boolean;
  }>("select * from ai_chunks_after($1, $2)", [answerId, after]);
  const [row] = rows;
  if (!row) return null;
  return {
    chunks: rows.flatMap(({ chunks }) => chunks ?? []),
    last: rows.at(-1)?.number ?? after,
    isOver: row.is_over,
    isLost: row.is_lost,
  };
}

/** What an answer whose server was lost comes to: what was written down of it, with a remark. */
export async function lostParts(
  base: UIMessage | null,
  written: readonly UIMessageChunk[],
): Promise<Part[]> {
  return settled(await assemble(base, [...written, interruption]));
}

/** Ends an answer whose server was lost: what came of it is kept, with a remark. */
export async function settleLost(caller: Caller, conversationId: string): Promise<void> {
  await caller.run(async (client) => {
    const answer = await answerUnderWay(client, conversationId);
    if (!answer?.isLost) return;
    const messages = await readMessages(client, conversationId);
    const base = messages.find(({ id }) => id === answer.messageId) ?? null;
    const written = await chunksAfter(client, answer.id, -1);
    const parts = await lostParts(base, written?.chunks ?? []);
    await client.query("select end_own_lost_ai_answer($1, $2)", [answer.id, JSON.stringify(parts)]);
  });
}
