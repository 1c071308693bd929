import { randomUUID } from "node:crypto";
import type { UIMessage } from "ai";
import type { PoolClient } from "pg";
import { isBudgetExhausted, secondsUntilMidnight } from "../../assistant/budget.ts";
import type { Caller } from "../../assistant/caller.ts";
import { readMessages } from "../../assistant/conversations.ts";
import { type Part, addDecision, expireApprovals } from "../../assistant/messages.ts";
import { badRequest, HttpError } from "../../errors/HttpError.ts";
import type { ChatRequest, Decision } from "./chatBody.ts";
import { proposalsIn, textOf } from "./chatBody.ts";
import type { StoredPart } from "./messageFiles.ts";
import { storeFiles } from "./messageFiles.ts";
import type { AssistantDependencies } from "./dependencies.ts";
import { type PublicError, conflict, notFound } from "../../errors/PublicError.ts";

/** An answer to be generated, with the conversation up to it. */
export interface PendingAnswer {
  answerId: string;
  messageId: string;
  /** The message that the answer continues after an approval; null for a new message. */
  base: UIMessage | null;
  messages: UIMessage[];
  /** Tool calls whose approval was answered. */
  answered: Set<string>;
}

/**
 * Stores a chat request and the start of its answer, in one transaction.
 * @throws HttpError or a database error when the request is invalid
 */
export async function beginAnswer(
  dependencies: AssistantDependencies,
  caller: Caller,
  request: ChatRequest,
): Promise<PendingAnswer> {
  const { config } = dependencies;
  const id = request.conversationId;
  // Files are stored before the transaction opens.
  const parts =
    request.kind === "message" ? await storeFiles(dependencies, caller, request.parts) : [];

  return caller.run(async (client) => {
    await refuseBeyondCost(client, config);
    if (request.kind === "message") {
      await client.query("select open_ai_conversation($1, $2)", [id, textOf(request.parts)]);
      await expireProposals(client, id);
      await client.query("select add_ai_message($1, $2, 'user', $3)", [
        ...[id, request.messageId, JSON.stringify(await attachToConversation(client, id, parts))],
      ]);
      return begin(client, null, new Set());
    }
    const messages = await readMessages(client, id);
    if (request.kind === "decisions") {
      const base = messages.at(-1);
      if (base?.role !== "assistant" || base.id !== request.messageId) throw noProposalError();
      const decided = await recordDecisions(client, id, base, request.decisions);
      return begin(client, decided.base, decided.uses);
    }
    const question =
      request.messageId ?? messages.findLast((message) => message.role === "user")?.id ?? null;
    await expireProposals(client, id);
    const { rows } = await client.query<{ found: boolean }>(
      "select remove_ai_messages_after($1, $2) as found",
      [id, question],
    );
    if (!rows[0]?.found) throw notFound("The conversation has no message to be answered again");
    return begin(client, null, new Set());
  });

  async function begin(
    client: PoolClient,
    base: UIMessage | null,
    uses: Set<string>,
  ): Promise<PendingAnswer> {
    const messageId = base?.id ?? randomUUID();
    const { rows } = await client.query<{ id: string }>("select begin_ai_answer($1, $2) as id", [
      ...[id, messageId],
    ]);
    const messages = await readMessages(client, id);
    // An approved change is always answered.
    if (base === null && JSON.stringify(messages).length > config.conversationCharacters)
      throw conflict("This conversation is as long as it may be: start a new one");
    return { answerId: rows[0]?.id ?? "", messageId, base, messages, answered: uses };
  }
}

async function refuseBeyondCost(
  client: PoolClient,
  config: AssistantDependencies["config"],
): Promise<void> {
  const { rows } = await client.query<{ usage: { cost: number } }>(
    "select ai_usage_today() as usage",
  );
  if (!isBudgetExhausted(rows[0]?.usage.cost ?? 0, config)) return;
  const retryAfter = secondsUntilMidnight(new Date());
  throw new HttpError(
    429,
    "RATE_LIMITED",
    "Your daily budget for the assistant is used up: it is available again tomorrow (UTC)",
    { retryAfter },
  );
}

/** Marks unanswered proposals as lapsed: the conversation continues with something else. */
async function expireProposals(client: PoolClient, id: string): Promise<void> {
  await client.query("select expire_conversation_ai_approvals($1)", [id]);
  for (const message of await readMessages(client, id)) {
    if (message.role !== "assistant" || proposalsIn(message.parts).length === 0) continue;
    await writeParts(client, id, message.id, expireApprovals(message.parts));
  }
}

/** Records the decisions on a message's proposed changes. Everything else in the client's message is ignored. */
async function recordDecisions(
  client: PoolClient,
  id: string,
  base: UIMessage,
  decisions: readonly Decision[],
): Promise<{ base: UIMessage; uses: Set<string> }> {
  const results = new Map<string, { approved: boolean; reason: string | undefined }>();
  const uses = new Set<string>();
  const open = proposalsIn(base.parts);
  const isAnswered = new Set(decisions.map((decision) => decision.id));
  const fresh = decisions.filter((decision) => open.includes(decision.id));
  // Without new decisions the error is about the repeated ones.
  for (const decision of fresh.length > 0 ? fresh : decisions) {
    const { rows } = await client.query<{ state: string; tool_call_id: string }>(
      "select state, tool_call_id from answer_ai_approval($1, $2, $3)",
      [id, decision.id, decision.approved],
    );
    const [row] = rows;
    if (!row) throw noProposalError();
    uses.add(row.tool_call_id);
    const expired = row.state === "EXPIRED";
    results.set(decision.id, {
      approved: row.state === "APPROVED",
      reason: expired ? "The proposal had expired before it was approved." : decision.reason,
    });
  }
  const left = open.filter((proposal) => !isAnswered.has(proposal));
  if (left.length > 0)
    throw badRequest(
      `Answer all the proposed changes of the message at once; these are left: ${left.join(", ")}`,
      { path: ["messages"] },
    );
  const parts = base.parts.map((part): Part => {
    const approvalId = "approval" in part ? part.approval?.id : undefined;
    const result = approvalId === undefined ? undefined : results.get(approvalId);
    return result ? addDecision(part, result) : part;
  });
  await writeParts(client, id, base.id, parts);
  return { base: { ...base, parts }, uses };
}

async function writeParts(client: PoolClient, id: string, message: string, parts: Part[]) {
  await client.query("select set_ai_message_parts($1, $2, $3)", [
    ...[id, message, JSON.stringify(parts)],
  ]);
}

/** Assigns a message's attachments to the conversation. */
async function attachToConversation(
  client: PoolClient,
  id: string,
  parts: readonly StoredPart[],
): Promise<Part[]> {
  const ids = parts.flatMap((part) => (part.type === "file" ? [part.attachmentId] : []));
  if (ids.length === 0) return parts.filter((part) => part.type === "text");
  const { rows } = await client.query<{ id: string; file_name: string; media_type: string }>(
    "select id, file_name, media_type from claim_ai_attachments($1, $2)",
    [id, ids],
  );
  const files = new Map(rows.map((row) => [row.id, row]));
  return parts.flatMap((part): Part[] => {
    if (part.type === "text") return [part];
    const file = files.get(part.attachmentId);
    if (!file) return [];
    return [
      {
        type: "file",
        url: `/ai/attachments/${file.id}`,
        filename: file.file_name,
        mediaType: file.media_type,
      },
    ];
  });
}

function noProposalError(): PublicError {
  return conflict(
    "The conversation's last message is another one by now, or proposes nothing: load it again",
  );
}
