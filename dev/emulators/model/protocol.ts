import { z } from "zod";
import { ModelProblem } from "./problem.ts";

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
export type ContentPart = z.output<typeof part>;

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
export type ChatMessage = z.output<typeof message>;

/** A JSON schema, as far as the model reads it. */
export interface JsonSchema {
  type?: string | string[] | undefined;
  description?: string | undefined;
  enum?: readonly unknown[] | undefined;
  const?: unknown;
  format?: string | undefined;
  properties?: Record<string, JsonSchema> | undefined;
  required?: string[] | undefined;
  items?: JsonSchema | undefined;
  anyOf?: JsonSchema[] | undefined;
  minimum?: number | undefined;
  maximum?: number | undefined;
  maxItems?: number | undefined;
}

export const jsonSchema: z.ZodType<JsonSchema> = z.lazy(() =>
  z.looseObject({
    type: z.union([z.string(), z.array(z.string())]).optional(),
    description: z.string().optional(),
    enum: z.array(z.unknown()).optional(),
    format: z.string().optional(),
    properties: z.record(z.string(), jsonSchema).optional(),
    required: z.array(z.string()).optional(),
    items: jsonSchema.optional(),
    anyOf: z.array(jsonSchema).optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    maxItems: z.number().optional(),
  }),
);

const tool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string().regex(/^[\w-]{1,64}$/, "must be letters, digits, _ and -, 64 at most"),
    description: z.string().optional(),
    parameters: jsonSchema.default({}),
  }),
});
export type Tool = z.output<typeof tool>["function"];

const chatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(tool).max(128).nullish(),
  tool_choice: z.unknown().optional(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
});
export type ChatRequest = z.output<typeof chatRequest>;

/**
 * Reads a request.
 * @throws ModelProblem with status 400 that names what is wrong, as an endpoint of the protocol does
 */
export function readChatRequest(text: string): ChatRequest {
  const read = chatRequest.safeParse(parseBody(text));
  if (!read.success) {
    const [issue] = read.error.issues;
    const param = (issue?.path ?? []).join(".");
    throw new ModelProblem(400, `Invalid value for '${param}': ${issue?.message ?? ""}`, { param });
  }
  refuseLooseEnds(read.data.messages);
  return read.data;
}

/** @throws ModelProblem for what is no JSON */
export function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ModelProblem(400, "We could not parse the JSON body of your request.");
  }
}

/** Every call of a tool is followed by its result, and every result follows its call. */
function refuseLooseEnds(messages: readonly ChatMessage[]): void {
  let open = new Set<string>();
  for (const [index, said] of messages.entries()) {
    if (said.role === "tool") {
      if (!open.delete(said.tool_call_id))
        throw new ModelProblem(
          400,
          "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
          { param: `messages.${index}.role` },
        );
      continue;
    }
    if (open.size > 0) refuseOpen(open, index);
    if (said.role === "assistant") open = new Set((said.tool_calls ?? []).map(({ id }) => id));
  }
  if (open.size > 0) refuseOpen(open, messages.length);
}

function refuseOpen(open: ReadonlySet<string>, index: number): never {
  throw new ModelProblem(
    400,
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
    { param: `messages.${index}.role` },
  );
}

/** The text of a message; what is no text stands as a note of its kind. */
export function textOf(said: ChatMessage): string {
  const held = said.content ?? "";
  if (typeof held === "string") return held;
  return held.map((one) => (one.type === "text" ? one.text : `[${one.type}]`)).join("\n");
}
