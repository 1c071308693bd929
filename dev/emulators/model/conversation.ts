import type { ChatMessage, ChatRequest } from "./protocol.ts";
import { textOf } from "./protocol.ts";
import type { Facts } from "./facts.ts";
import type { Question } from "./question.ts";
import { readQuestion } from "./question.ts";
import type { Result } from "./results.ts";
import { readResult } from "./results.ts";

/** A tool that was called since the last question, and what it gave. */
export interface Done {
  name: string;
  arguments: string;
  result: Result;
}

/** A conversation as far as the rules look at it. */
export interface Conversation {
  /** The last question as it was written. */
  text: string;
  question: Question;
  done: readonly Done[];
  /** Whether the model has not said anything yet. */
  isFirst: boolean;
  /** What came along with the question and is no text. */
  attachments: readonly string[];
}

/** With this the model asks for what it lacks; what the user says next completes the question before. */
export const asking = "I still need";

export function readConversation({ messages }: ChatRequest, now: Date): Conversation {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[last];
  const earlier = messages.slice(0, Math.max(0, last));
  const text = asked === undefined ? "" : ownWords(asked);
  return {
    text,
    question: withEarlier(text, earlier, now),
    done: doneIn(messages.slice(last + 1)),
    isFirst: !messages.some((said) => said.role === "assistant" && textOf(said).trim() !== ""),
    attachments: asked === undefined ? [] : attachmentsOf(asked),
  };
}

/** So a text that was read from a file begins. */
const fromFile = /^\[Attachment(?: [\w-]{36})?,? (?:file name ")?([^\]:"]{1,200})/;

/** What a person wrote: the last text of a message that comes from no file. */
export function ownWords({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  const texts = (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.findLast((text) => !fromFile.test(text)) ?? "";
}

/** The texts of files that came with a message. */
export function attachedTexts({ content }: ChatMessage): string[] {
  if (typeof content === "string") return [];
  return (content ?? []).flatMap((part) =>
    part.type === "text" && fromFile.test(part.text) ? [part.text] : [],
  );
}

function attachmentsOf(said: ChatMessage): string[] {
  const { content } = said;
  const others = typeof content === "string" ? [] : (content ?? []);
  return [
    ...others.flatMap((part) => {
      if (part.type === "image_url") return ["A picture came along; fixed rules cannot see it."];
      if (part.type !== "file") return [];
      return [`The file ${part.file.filename ?? ""} came along; fixed rules cannot read it.`];
    }),
    ...attachedTexts(said).map((text) => {
      const [, ...lines] = text.split("\n").filter((line) => line.trim() !== "");
      const name = fromFile.exec(text)?.[1] ?? "";
      const begins = (lines[0] ?? "").slice(0, 200);
      return `The file ${name} came along, with ${Math.max(0, lines.length - 1)} lines; the first is: ${begins}`;
    }),
  ];
}

function withEarlier(text: string, earlier: readonly ChatMessage[], now: Date): Question {
  const question = readQuestion(text, now);
  const before = earlier.findLast(({ role }) => role === "user");
  const answer = earlier.findLast(({ role }) => role === "assistant");
  if (before === undefined) return question;
  // Another request to do something is no answer to that.
  if (question.verb === "read" && answer !== undefined && textOf(answer).includes(asking))
    return readQuestion(`${ownWords(before)} ${text}`, now);
  if (!/^\s*(and|but|what about|how about|only|those|of (these|those|them))\b/i.test(text))
    return question;
  const first = readQuestion(ownWords(before), now);
  const facts: Facts = { ...first.facts, ...question.facts };
  return { ...first, facts, words: question.words.length > 0 ? question.words : first.words };
}

function doneIn(messages: readonly ChatMessage[]): Done[] {
  const calls = messages.flatMap((said) =>
    said.role === "assistant" ? (said.tool_calls ?? []) : [],
  );
  return calls.flatMap((call) => {
    const result = messages.find((said) => said.role === "tool" && said.tool_call_id === call.id);
    if (result === undefined) return [];
    const { name, arguments: given } = call.function;
    return [{ name, arguments: given, result: readResult(textOf(result)) }];
  });
}
