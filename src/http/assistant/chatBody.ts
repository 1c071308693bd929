import { z } from "zod";
import type { UIMessage } from "ai";
import { badRequest, HttpError } from "../../errors/HttpError.ts";

const messageId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, {
  error: "must be 1 to 64 letters, digits, hyphens or underscores",
});
const message = z.object({
  id: messageId,
  role: z.enum(["user", "assistant"], { error: "must be user or assistant" }),
  parts: z.array(z.looseObject({ type: z.string() })).max(10_000),
});
const body = z.object({
  id: z.string({ error: "must be the conversation's id" }),
  message: message.optional(),
  messages: z.array(z.unknown()).max(100_000).optional(),
  trigger: z.enum(["submit-message", "regenerate-message"]).default("submit-message"),
  messageId: messageId.nullish(),
});
const textPart = z.object({ type: z.literal("text"), text: z.string() });
const filePart = z.object({
  type: z.literal("file"),
  url: z.string(),
  filename: z.string().max(500).optional(),
  mediaType: z.string().max(200).optional(),
});
const responded = z.object({
  state: z.literal("approval-responded"),
  approval: z.object({
    id: z.uuid({ error: "must be the id of a proposed change" }),
    approved: z.boolean(),
    reason: z.string().max(1_000).optional(),
  }),
});

export type UserPart = z.output<typeof textPart> | z.output<typeof filePart>;

/** The user's decision on a proposed change. Other parts of the client's message are ignored. */
export interface Decision {
  id: string;
  approved: boolean;
  reason: string | undefined;
}

/** A chat request. */
export type ChatRequest = { conversationId: string } & (
  | { kind: "message"; messageId: string; parts: UserPart[] }
  | { kind: "decisions"; messageId: string; decisions: Decision[] }
  /** Regenerates the answer to a message of the user; null for the last one. */
  | { kind: "again"; messageId: string | null }
);

/**
 * Reads the body of `useChat` and `DefaultChatTransport`, with all messages or the last one. Only the last message is
 * read: the server stores the conversation.
 */
export function readChatBody(given: unknown, messageCharacters: number): ChatRequest {
  const { id, message: only, messages, trigger, messageId: named } = parse(body, given, []);
  const conversationId = id;
  const last = only ?? (messages?.length ? parseLast(messages) : undefined);
  if (trigger === "regenerate-message") {
    // For an assistant's message, the question before it is answered again.
    const question = last?.role === "user" ? last.id : null;
    return { kind: "again", conversationId, messageId: question };
  }
  if (!last) throw malformed(["messages"], "messages must hold the message that is to be answered");
  if (last.role === "assistant") {
    const decisions = last.parts.flatMap((part) => decisionIn(part));
    if (decisions.length === 0)
      throw malformed(
        ["messages"],
        "The last message must be the user's, or one that answers proposed changes",
      );
    return { kind: "decisions", conversationId, messageId: last.id, decisions };
  }
  const parts = last.parts.flatMap((part): UserPart[] => {
    if (part.type === "text") return [parse(textPart, part, ["messages"])];
    if (part.type === "file") return [parse(filePart, part, ["messages"])];
    return [];
  });
  const characters = parts.reduce(
    (sum, part) => sum + (part.type === "text" ? part.text.length : 0),
    0,
  );
  if (characters > messageCharacters)
    throw new HttpError(
      413,
      "BAD_USER_INPUT",
      `The message has ${characters} characters; ${messageCharacters} are allowed`,
      { path: ["messages"] },
    );
  const isEmpty = parts.every((part) => part.type === "text" && part.text.trim() === "");
  if (isEmpty) throw malformed(["messages"], "The message is empty");
  return { kind: "message", conversationId, messageId: named ?? last.id, parts };
}

/** The text of a message, without its files. */
export function textOf(parts: readonly UserPart[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join(" ");
}

/** The undecided proposals of a stored message. */
export function proposalsIn(parts: UIMessage["parts"]): string[] {
  return parts.flatMap((part) =>
    "state" in part && part.state === "approval-requested" ? [part.approval.id] : [],
  );
}

function decisionIn(part: z.output<typeof message>["parts"][number]): Decision[] {
  if (part["state"] !== "approval-responded") return [];
  const { approval } = parse(responded, part, ["messages"]);
  return [{ id: approval.id, approved: approval.approved, reason: approval.reason }];
}

function parseLast(messages: readonly unknown[]) {
  return parse(message, messages.at(-1), ["messages", messages.length - 1]);
}

function parse<T extends z.ZodType>(
  schema: T,
  given: unknown,
  at: readonly (string | number)[],
): z.output<T> {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  const [issue] = error.issues;
  const path = [...at, ...(issue?.path ?? [])].map((step) =>
    typeof step === "symbol" ? String(step) : step,
  );
  throw malformed(path, `${path.join(".") || "The body"}: ${issue?.message ?? "is malformed"}`);
}

function malformed(path: readonly (string | number)[], text: string): HttpError {
  return badRequest(text, path.length > 0 ? { path } : {});
}
