import { randomUUID } from "node:crypto";
import type { Conversation, Turn } from "./conversation.ts";

/** The content of a streamed answer, independent of the protocol. */
export interface Answer {
  id: string;
  model: string;
  /** The text, split into words. */
  words: readonly string[];
  calls: readonly { id: string; name: string; argumentParts: readonly string[] }[];
  finish: "stop" | "tool_calls" | "length";
  withUsage: boolean;
  /** Numbers of tokens of the request and of the answer. */
  usage: { read: number; written: number };
}

/** An approximation that is good enough to test limits. */
const charactersPerToken = 4;

/** The answer for a turn. Beyond the maximum number of tokens it loses its calls and the end of its text. */
export function makeAnswer(request: Conversation, turn: Turn, requestLength: number): Answer {
  const { model, maxTokens, withUsage } = request;
  const calls = turn.calls.map(({ id = `call_${randomUUID()}`, name, arguments: given }) => {
    const text = typeof given === "string" ? given : JSON.stringify(given);
    const half = Math.ceil(text.length / 2);
    return { id, name, argumentParts: [text.slice(0, half), text.slice(half)] };
  });
  const output = turn.text + calls.map((call) => call.name + call.argumentParts.join("")).join("");
  const tokens = Math.ceil(output.length / charactersPerToken);
  const isCut = tokens > maxTokens;
  const text = turn.text.slice(0, maxTokens * charactersPerToken);
  return {
    id: `answer_${randomUUID()}`,
    model,
    words: text.match(/\s*\S+\s*/g) ?? [],
    calls: isCut ? [] : calls,
    finish: isCut ? "length" : calls.length > 0 ? "tool_calls" : "stop",
    withUsage,
    usage: {
      read: Math.ceil(requestLength / charactersPerToken),
      written: Math.min(tokens, maxTokens),
    },
  };
}
