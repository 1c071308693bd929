import { z } from "zod";
import type { Conversation, Message } from "./conversation.ts";
import { ModelProblem, invalid, parseBody } from "./problem.ts";

// The part of OpenAI's chat completions protocol that clients of compatible endpoints use.

const part = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({
    type: z.literal("image_url"),
    image_url: z.looseObject({ url: z.string().regex(/^(data:image\/|https?:)/) }),
  }),
  z.looseObject({
    type: z.literal("file"),
    file: z.looseObject({ filename: z.string().optional(), file_data: z.string().optional() }),
  }),
]);
const content = z.union([z.string(), z.array(part)]);
const toolCall = z.looseObject({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.looseObject({ name: z.string().min(1), arguments: z.string() }),
});
const message = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), content }),
  z.looseObject({ role: z.literal("user"), content }),
  z.looseObject({
    role: z.literal("assistant"),
    content: content.nullish(),
    tool_calls: z.array(toolCall).min(1).nullish(),
  }),
  z.looseObject({ role: z.literal("tool"), tool_call_id: z.string().min(1), content }),
]);
type ChatMessage = z.output<typeof message>;

/** The arguments of a tool, as a JSON schema. */
export const parameters = z.looseObject({
  type: z.literal("object").optional(),
  properties: z
    .record(
      z.string(),
      z.looseObject({ type: z.unknown().optional(), enum: z.array(z.unknown()).optional() }),
    )
    .default({}),
  required: z.array(z.string()).default([]),
});

const request = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z
    .array(
      z.looseObject({
        type: z.literal("function"),
        function: z.looseObject({
          name: z.string().regex(/^[\w-]{1,64}$/, "must be letters, digits, _ and -, 64 at most"),
          description: z.string().optional(),
          parameters: parameters.prefault({}),
        }),
      }),
    )
    .max(128)
    .nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
});

/**
 * Reads a request.
 * @throws ModelProblem with status 400 that names the error, as an endpoint of the protocol does
 */
export function readChatRequest(text: string): Conversation {
  const read = request.safeParse(parseBody(text));
  if (!read.success) throw invalid(read.error);
  const { model, messages, tools, ...options } = read.data;
  refuseUnpairedCalls(messages);
  return {
    model,
    maxTokens: options.max_completion_tokens ?? options.max_tokens ?? Infinity,
    isStream: options.stream ?? false,
    withUsage: options.stream_options?.include_usage ?? false,
    messages: messages.map(messageOf),
    tools: (tools ?? []).map(({ function: { name, description, parameters: schema } }) => ({
      ...{ name, description, properties: schema.properties, required: schema.required },
    })),
    characters: text.length,
  };
}

/** Refuses tool calls without results, and results without a call. */
function refuseUnpairedCalls(messages: readonly ChatMessage[]): void {
  let open = new Set<string>();
  const refuseOpen = (index: number) => {
    if (open.size === 0) return;
    throw new ModelProblem(
      400,
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
        `The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
      { param: `messages.${index}.role` },
    );
  };
  for (const [index, entry] of messages.entries()) {
    if (entry.role !== "tool") {
      refuseOpen(index);
      if (entry.role === "assistant") open = new Set((entry.tool_calls ?? []).map(({ id }) => id));
    } else if (!open.delete(entry.tool_call_id))
      throw new ModelProblem(
        400,
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
        { param: `messages.${index}.role` },
      );
  }
  refuseOpen(messages.length);
}

function messageOf(entry: ChatMessage): Message {
  const parts = entry.content ?? [];
  const calls = entry.role === "assistant" ? (entry.tool_calls ?? []) : [];
  return {
    role: entry.role === "developer" ? "system" : entry.role,
    texts:
      typeof parts === "string"
        ? [parts]
        : parts.flatMap((one) => (one.type === "text" ? [one.text] : [])),
    calls: calls.map(({ id, function: { name, arguments: given } }) => ({
      ...{ id, name, arguments: argumentsOf(given) },
    })),
  };
}

/** Arguments that are not JSON, which a fault can produce, stay a text. */
function argumentsOf(given: string): Record<string, unknown> | string {
  try {
    return JSON.parse(given) as Record<string, unknown>;
  } catch {
    return given;
  }
}
