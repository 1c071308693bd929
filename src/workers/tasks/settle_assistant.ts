import type { UIMessage, UIMessageChunk } from "ai";
import { z } from "zod";
import { partsOfLostAnswer } from "../../assistant/conversations.ts";
import { sanitizeJson } from "../../assistant/sanitizeJson.ts";
import { defineTask } from "../queue/defineTask.ts";

interface LostAnswer {
  id: string;
  message_id: string;
  base: UIMessage["parts"] | null;
  chunks: UIMessageChunk[];
}

/** Ends answers whose server died, and proposals that have expired. */
export const settleAssistant = defineTask(
  z.strictObject({}),
  async ({ inTenant, complete, log }) => {
    const { rows } = await inTenant((client) =>
      client.query<LostAnswer>("select * from lost_ai_answers()"),
    );
    const answers = await Promise.all(
      rows.map(async ({ id, message_id, base, chunks }) => {
        const message = base && { id: message_id, role: "assistant" as const, parts: base };
        return { id, parts: sanitizeJson(await partsOfLostAnswer(message, chunks)) };
      }),
    );
    const expired = await complete(async (client) => {
      for (const { id, parts } of answers)
        await client.query("select end_lost_ai_answer($1, $2)", [id, parts]);
      const { rows } = await client.query<{ expired: number }>(
        "select expire_ai_approvals() as expired",
      );
      return rows[0]?.expired;
    });
    log.info({ answers: answers.length, expired }, "assistant answers settled");
  },
);
