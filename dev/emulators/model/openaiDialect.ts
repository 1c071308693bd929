import { z } from "zod";
import type { Answer } from "./answer.ts";
import type { Call, Conversation, Message, ModelProblem } from "./conversation.ts";
import type { Dialect } from "./dialect.ts";

/** The part of OpenAI's chat completions protocol that the service uses. */
export const openaiDialect: Dialect = { read, chunks, chunk, problem };

const part = z.object({
  type: z.enum(["text", "image_url", "file"]),
  text: z.string().optional(),
});
const content = z.union([z.string(), z.array(part)]);
const toolCall = z.object({
  id: z.string().min(1),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});
const message = z.discriminatedUnion("role", [
  z.object({ role: z.enum(["system", "user"]), content }),
  z.object({
    role: z.literal("assistant"),
    content: content.nullable(),
    tool_calls: z.array(toolCall).min(1).default([]),
  }),
  z.object({ role: z.literal("tool"), content, tool_call_id: z.string() }),
]);
const request = z.object({
  model: z.string(),
  messages: z.array(message).min(1),
  stream: z.literal(true, "this emulator only streams"),
  stream_options: z.object({ include_usage: z.boolean() }).optional(),
  tools: z
    .array(z.object({ function: z.object({ name: z.string().regex(/^[\w-]{1,64}$/) }) }))
    .default([]),
  max_tokens: z.int().min(1).default(Infinity),
});

function read(body: unknown): Conversation {
  const { model, messages, tools, ...options } = request.parse(body);
  return {
    model,
    maxTokens: options.max_tokens,
    withUsage: options.stream_options?.include_usage ?? false,
    messages: messages.map(messageOf),
    tools: tools.map((tool) => tool.function.name),
  };
}

function messageOf(entry: z.output<typeof message>): Message {
  const parts = entry.content ?? [];
  const calls = entry.role === "assistant" ? entry.tool_calls : [];
  return {
    role: entry.role,
    texts: typeof parts === "string" ? [parts] : parts.flatMap(({ text }) => text ?? []),
    calls: calls.map(({ id, function: { name, arguments: given } }) => ({
      ...{ id, name, arguments: JSON.parse(given) as Call["arguments"] },
    })),
    resultOf: entry.role === "tool" ? entry.tool_call_id : undefined,
  };
}

/** The role, the text, the tool calls with their arguments in parts, the finish reason, and the usage. */
function* chunks({ id, model, words, calls, finish, withUsage, usage }: Answer): Generator<string> {
  const created = Math.floor(Date.now() / 1000);
  const chunkOf = (choices: object[], total: object | null = null) =>
    chunk({ id, object: "chat.completion.chunk", created, model, choices, usage: total });
  const delta = (change: object, finishReason: string | null = null) =>
    chunkOf([{ index: 0, delta: change, logprobs: null, finish_reason: finishReason }]);
  yield delta({ role: "assistant", content: words.length === 0 ? null : "" });
  for (const word of words) yield delta({ content: word });
  for (const [index, call] of calls.entries()) {
    const start = { name: call.name, arguments: "" };
    yield delta({ tool_calls: [{ index, id: call.id, type: "function", function: start }] });
    for (const given of call.argumentParts)
      yield delta({ tool_calls: [{ index, function: { arguments: given } }] });
  }
  yield delta({}, finish);
  const { read: prompt_tokens, written: completion_tokens } = usage;
  const total_tokens = prompt_tokens + completion_tokens;
  if (withUsage) yield chunkOf([], { prompt_tokens, completion_tokens, total_tokens });
  yield "data: [DONE]\n\n";
}

function chunk(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function problem({ status, message: text }: ModelProblem) {
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return { error: { message: text, type: status === 429 ? "rate_limit_error" : type } };
}
