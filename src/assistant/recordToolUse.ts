import type { Caller } from "./caller.ts";
import { sanitizeJson } from "./sanitizeJson.ts";

/** Records the outcome of a tool call in the audit log. */
export async function recordToolUse(
  { caller, conversationId }: { caller: Caller; conversationId: string },
  use: { name: string; isWrite: boolean; toolCallId: string; details: Record<string, unknown> },
): Promise<void> {
  const { name, isWrite, toolCallId, details } = use;
  await caller.run((client) =>
    client.query("select record_ai_tool_call($1, $2, $3, $4)", [
      ...[conversationId, name, isWrite, sanitizeJson({ toolCallId, ...details })],
    ]),
  );
}

/** The arguments of a tool call in the audit log's form. */
export function summaryOf(input: unknown): string {
  return JSON.stringify(input ?? null)
    .slice(0, 1_000)
    .toWellFormed();
}
