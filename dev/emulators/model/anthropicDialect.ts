import { z } from "zod";
import type { Answer } from "./answer.ts";
import type { Call, Conversation, Message, ModelProblem } from "./conversation.ts";
import type { Dialect } from "./dialect.ts";

/**
 * The part of Anthropic's Messages protocol that the service uses. Its streams always report the usage, so the fault
 * `noUsage` does not change them.
 */
export const anthropicDialect: Dialect = { read, chunks, chunk, problem };

const text = z.object({
  type: z.literal("text"),
  text: z.string().min(1, "text content blocks must be non-empty"),
});
const image = z.object({
  type: z.literal("image"),
  source: z.object({ type: z.literal("base64"), media_type: z.string().startsWith("image/") }),
});
const document = z.object({
  type: z.literal("document"),
  source: z.object({ type: z.literal("base64"), media_type: z.literal("application/pdf") }),
});
const toolUse = z.object({
  type: z.literal("tool_use"),
  id: z.string().regex(/^[\w-]+$/),
  name: z.string().min(1),
  input: z.record(z.string(), z.unknown()),
});
const toolResult = z.object({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.string(),
});
const userBlock = z.discriminatedUnion("type", [text, image, document, toolResult]);
const assistantBlock = z.discriminatedUnion("type", [text, toolUse]);
const message = z.discriminatedUnion("role", [
  z.object({ role: z.literal("user"), content: z.array(userBlock).min(1) }),
  z.object({ role: z.literal("assistant"), content: z.array(assistantBlock).min(1) }),
]);
const tool = z.object({
  name: z.string().regex(/^[\w-]{1,128}$/),
  input_schema: z.object({ type: z.literal("object") }),
});
const request = z.object({
  model: z.string(),
  max_tokens: z.int().min(1),
  messages: z.array(message).min(1),
  stream: z.literal(true, "this emulator only streams"),
  tools: z.array(tool).default([]),
});

function read(body: unknown): Conversation {
  const { model, max_tokens: maxTokens, messages, tools } = request.parse(body);
  return {
    ...{ model, maxTokens, withUsage: true },
    messages: messages.flatMap(messagesOf),
    tools: tools.map(({ name }) => name),
  };
}

/** Splits a message: every tool result becomes a separate message. */
function messagesOf({ role, content }: z.output<typeof message>): Message[] {
  const results: Message[] = [];
  const texts: string[] = [];
  const calls: Call[] = [];
  for (const block of content) {
    if (block.type === "tool_result")
      results.push({
        role: "tool",
        texts: [block.content],
        calls: [],
        resultOf: block.tool_use_id,
      });
    if (block.type === "text") texts.push(block.text);
    if (block.type === "tool_use")
      calls.push({ id: block.id, name: block.name, arguments: block.input });
  }
  return results.length === content.length ? results : [...results, { role, texts, calls }];
}

const stopReasons = { stop: "end_turn", tool_calls: "tool_use", length: "max_tokens" } as const;

/** The message without content, a block of text, a block for each tool call, and the stop reason. */
function* chunks({ id, model, words, calls, finish, usage }: Answer): Generator<string> {
  const begun = { id, type: "message", role: "assistant", model, content: [], stop_reason: null };
  const begunUsage = { input_tokens: usage.read, output_tokens: 1 };
  yield chunk({ type: "message_start", message: { ...begun, usage: begunUsage } });
  if (words.length > 0) {
    const deltas = words.map((word) => ({ type: "text_delta", text: word }));
    yield* block(0, { type: "text", text: "" }, deltas);
  }
  for (const [index, call] of calls.entries()) {
    const start = { type: "tool_use", id: call.id, name: call.name, input: {} };
    const deltas = call.argumentParts.map((part) => ({
      ...{ type: "input_json_delta", partial_json: part },
    }));
    yield* block(words.length > 0 ? index + 1 : index, start, deltas);
  }
  yield chunk({
    type: "message_delta",
    delta: { stop_reason: stopReasons[finish], stop_sequence: null },
    usage: { output_tokens: usage.written },
  });
  yield chunk({ type: "message_stop" });
}

function* block(index: number, start: object, deltas: readonly object[]): Generator<string> {
  yield chunk({ type: "content_block_start", index, content_block: start });
  if (index === 0) yield chunk({ type: "ping" });
  for (const delta of deltas) yield chunk({ type: "content_block_delta", index, delta });
  yield chunk({ type: "content_block_stop", index });
}

function chunk(data: { type?: string; [field: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

const errorTypes: Readonly<Record<number, string>> = {
  429: "rate_limit_error",
  529: "overloaded_error",
};

function problem({ status, message: reason }: ModelProblem) {
  const type = errorTypes[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
  return { type: "error", error: { type, message: reason } };
}
