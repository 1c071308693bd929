import { z } from "zod";
import type { Conversation, Message } from "./conversation.ts";
import { parameters } from "./openaiRequest.ts";
import { ModelProblem, invalid, parseBody } from "./problem.ts";

// The part of Anthropic's Messages protocol that clients with their own tools use.

const cache = { cache_control: z.unknown().optional() };
const text = z.strictObject({
  type: z.literal("text"),
  text: z.string().min(1, "text content blocks must be non-empty"),
  ...cache,
});
const base64 = z.strictObject({
  type: z.literal("base64"),
  media_type: z.string(),
  data: z.base64(),
});
const image = z.strictObject({ type: z.literal("image"), source: base64, ...cache });
const document = z.strictObject({
  type: z.literal("document"),
  source: base64.extend({ media_type: z.literal("application/pdf") }),
  title: z.string().nullish(),
  ...cache,
});
const callId = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const toolUse = z.strictObject({
  type: z.literal("tool_use"),
  id: callId,
  name: z.string().min(1),
  input: z.record(z.string(), z.unknown()),
  ...cache,
});
const toolResult = z.strictObject({
  type: z.literal("tool_result"),
  tool_use_id: callId,
  content: z.union([z.string(), z.array(z.union([text, image]))]).optional(),
  is_error: z.boolean().optional(),
  ...cache,
});
const contentOf = <T extends z.ZodType>(block: T) =>
  z.union([z.string().min(1), z.array(block).min(1)]);
const message = z.discriminatedUnion("role", [
  z.strictObject({
    role: z.literal("user"),
    content: contentOf(z.discriminatedUnion("type", [text, image, document, toolResult])),
  }),
  z.strictObject({
    role: z.literal("assistant"),
    content: contentOf(z.discriminatedUnion("type", [text, toolUse])),
  }),
]);
type InputMessage = z.output<typeof message>;

const request = z.looseObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  system: z.union([z.string(), z.array(text)]).optional(),
  messages: z.array(message).min(1),
  stream: z.boolean().optional(),
  tools: z
    .array(
      z.looseObject({
        name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
        description: z.string().optional(),
        input_schema: parameters.refine(({ type }) => type === "object", "type must be object"),
      }),
    )
    .optional(),
  tool_choice: z.looseObject({ type: z.enum(["auto", "any", "tool", "none"]) }).optional(),
});

/**
 * Reads a request.
 * @throws ModelProblem with status 400 that names the error, as the real endpoint does
 */
export function readMessagesRequest(body: string): Conversation {
  const read = request.safeParse(parseBody(body));
  if (!read.success) throw invalid(read.error);
  const { model, max_tokens: maxTokens, messages, stream, tools = [] } = read.data;
  refuseUnpairedCalls(messages);
  if (tools.length === 0 && messages.some((entry) => callIdsOf(entry).length > 0))
    throw new ModelProblem(
      400,
      "Requests which include `tool_use` or `tool_result` blocks must define tools",
    );
  return {
    ...{ model, maxTokens, isStream: stream ?? false, withUsage: true },
    messages: messages.flatMap(messagesOf),
    tools: tools.map(({ name, description, input_schema: { properties, required } }) => ({
      ...{ name, description, properties, required },
    })),
    characters: body.length,
  };
}

/**
 * Refuses a conversation that does not start with a user message, and tool calls without results in the next
 * message.
 */
function refuseUnpairedCalls(messages: readonly InputMessage[]): void {
  if (messages[0]?.role !== "user")
    throw new ModelProblem(400, "messages.0.role: the first message must use the user role");
  let open = new Set<string>();
  const refuseOpen = (index: number) => {
    if (open.size === 0) return;
    throw new ModelProblem(
      400,
      `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open].join(", ")}`,
    );
  };
  for (const [index, entry] of messages.entries()) {
    for (const block of blocksOf(entry))
      if (block.type === "tool_result" && !open.delete(block.tool_use_id))
        throw new ModelProblem(
          400,
          `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.tool_use_id}`,
        );
    refuseOpen(index - 1);
    open = new Set(callIdsOf(entry));
  }
  refuseOpen(messages.length - 1);
}

type Block = Exclude<InputMessage["content"], string>[number];

function blocksOf({ content }: InputMessage): readonly Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function callIdsOf(entry: InputMessage): string[] {
  return blocksOf(entry).flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
}

/** Splits a message: every tool result becomes a separate message. */
function messagesOf(entry: InputMessage): Message[] {
  const blocks = blocksOf(entry);
  const results = blocks.flatMap((block): Message[] =>
    block.type === "tool_result"
      ? [{ role: "tool", texts: textsOf(block.content ?? ""), calls: [] }]
      : [],
  );
  const own = blocks.filter(({ type }) => type !== "tool_result");
  const calls = own.flatMap((block) =>
    block.type === "tool_use" ? [{ id: block.id, name: block.name, arguments: block.input }] : [],
  );
  return [
    ...results,
    ...(own.length > 0 ? [{ role: entry.role, texts: textsOf(own), calls }] : []),
  ];
}

function textsOf(content: string | readonly { type: string; text?: string }[]): string[] {
  if (typeof content === "string") return [content];
  return content.flatMap(({ text }) => (text === undefined ? [] : [text]));
}
