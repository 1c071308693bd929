import type { Conversation, Turn } from "./conversation.ts";

/** Prefixes of the ids of answers and tool calls. */
export interface IdPrefixes {
  answer: string;
  call: string;
}

/** A complete answer, independent of the protocol. */
export interface Completion {
  id: string;
  created: number;
  model: string;
  text: string;
  /** The text, split into words. */
  pieces: readonly string[];
  calls: readonly { id: string; name: string; arguments: string }[];
  finish: "stop" | "tool_calls" | "length";
  /** Numbers of tokens of the request and of the answer. */
  usage: { read: number; written: number };
}

/** An approximation that is good enough to test limits. */
const charactersPerToken = 4;
function countTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

/**
 * Builds the answer for a turn; `number` is part of its ids. An answer beyond `maxTokens` loses its calls and the
 * end of its text.
 */
export function complete(
  request: Conversation,
  turn: Turn,
  { number, ids }: { number: number; ids: IdPrefixes },
): Completion {
  const calls = turn.calls.map((call, index) => ({
    id: call.id ?? `${ids.call}${number}_${index}`,
    name: call.name,
    arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
  }));
  const limit = request.maxTokens;
  const pieces = piecesOf(turn.text);
  const kept: string[] = [];
  let left = limit * charactersPerToken;
  for (const piece of pieces) {
    left -= piece.length;
    if (left < 0) break;
    kept.push(piece);
  }
  const wanted =
    countTokens(turn.text) + countTokens(calls.map((call) => call.name + call.arguments).join(""));
  const cut = kept.length < pieces.length || wanted > limit;
  return {
    id: `${ids.answer}${number}`,
    created: Math.floor(Date.now() / 1000),
    model: request.model,
    text: kept.join(""),
    pieces: kept,
    calls: cut ? [] : calls,
    finish: cut ? "length" : calls.length > 0 ? "tool_calls" : "stop",
    usage: {
      read: Math.ceil(request.characters / charactersPerToken),
      written: Math.min(wanted, limit),
    },
  };
}

function piecesOf(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
}
