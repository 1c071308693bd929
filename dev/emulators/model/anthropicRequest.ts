import { z } from "zod";
import { ModelProblem } from "./problem.ts";
import type { ChatMessage, ChatRequest, ContentPart } from "./protocol.ts";
import { jsonSchema, parseBody } from "./protocol.ts";

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
type Message = z.output<typeof message>;

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
        input_schema: jsonSchema.refine(({ type }) => type === "object", "type must be object"),
      }),
    )
    .optional(),
  tool_choice: z.looseObject({ type: z.enum(["auto", "any", "tool", "none"]) }).optional(),
});

/**
 * Reads a request, and gives it as the one that the rules know.
 * @throws ModelProblem with status 400 that names what is wrong
 */
export function readMessagesRequest(body: string): ChatRequest {
  const read = request.safeParse(parseBody(body));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new ModelProblem(400, `${(issue?.path ?? []).join(".")}: ${issue?.message ?? ""}`);
  }
  const { model, max_tokens, system, messages, stream, tools = [], tool_choice } = read.data;
  refuseLooseEnds(messages);
  const uses = messages.some((said) => blocksOf(said).some(({ type }) => type === "tool_use"));
  if (uses && tools.length === 0)
    throw new ModelProblem(
      400,
      "Requests which include `tool_use` or `tool_result` blocks must define tools",
    );
  const instructions =
    typeof system === "string" ? system : system?.map((one) => one.text).join("\n");
  return {
    model,
    max_tokens,
    stream: stream ?? false,
    stream_options: { include_usage: true },
    messages: [
      ...(instructions === undefined ? [] : [{ role: "system" as const, content: instructions }]),
      ...messages.flatMap(messagesOf),
    ],
    tools: tools.map(({ name, description, input_schema: parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    })),
    tool_choice: tool_choice?.type ?? "auto",
  };
}

/** Questions and answers follow each other, and every use of a tool has its result at the head of what comes next. */
function refuseLooseEnds(messages: readonly Message[]): void {
  if (messages[0]?.role !== "user")
    throw new ModelProblem(400, "messages.0.role: the first message must use the user role");
  for (const [index, said] of messages.entries()) {
    const before = messages[index - 1];
    const open = new Set(
      before?.role === "assistant"
        ? blocksOf(before).flatMap((block) => (block.type === "tool_use" ? [block.id] : []))
        : [],
    );
    for (const block of blocksOf(said))
      if (block.type === "tool_result" && !open.delete(block.tool_use_id))
        throw new ModelProblem(
          400,
          `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.tool_use_id}`,
        );
    if (open.size > 0) refuseOpen(index - 1, open);
  }
  const last = messages.at(-1);
  const left = blocksOf(last).flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
  if (left.length > 0) refuseOpen(messages.length - 1, new Set(left));
}

function refuseOpen(index: number, ids: ReadonlySet<string>): never {
  throw new ModelProblem(
    400,
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...ids].join(", ")}`,
  );
}

type Block = Exclude<Message["content"], string>[number];

function blocksOf(said: Message | undefined): readonly Block[] {
  return said === undefined || typeof said.content === "string" ? [] : said.content;
}

/** Converts a message to internal messages, in which tool results are separate messages. */
function messagesOf(said: Message): ChatMessage[] {
  if (typeof said.content === "string") return [{ role: said.role, content: said.content }];
  if (said.role === "assistant") {
    const calls = said.content.flatMap((block) =>
      block.type === "tool_use"
        ? [
            {
              id: block.id,
              type: "function" as const,
              function: { name: block.name, arguments: JSON.stringify(block.input) },
            },
          ]
        : [],
    );
    const words = said.content.flatMap((block) => (block.type === "text" ? [block.text] : []));
    return [
      {
        role: "assistant",
        content: words.length === 0 ? null : words.join("\n"),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      },
    ];
  }
  const results = said.content.flatMap((block): ChatMessage[] =>
    block.type === "tool_result"
      ? [{ role: "tool", tool_call_id: block.tool_use_id, content: resultOf(block.content) }]
      : [],
  );
  const parts = said.content.flatMap(partsOf);
  return [...results, ...(parts.length > 0 ? [{ role: "user" as const, content: parts }] : [])];
}

function resultOf(content: z.output<typeof toolResult>["content"]): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return content.map((block) => (block.type === "text" ? block.text : "[image]")).join("\n");
}

function partsOf(block: Block): ContentPart[] {
  if (block.type === "text") return [{ type: "text", text: block.text }];
  if (block.type !== "image" && block.type !== "document") return [];
  const url = `data:${block.source.media_type};base64,${block.source.data}`;
  if (block.type === "image") return [{ type: "image_url", image_url: { url } }];
  return [{ type: "file", file: { filename: block.title ?? undefined, file_data: url } }];
}
