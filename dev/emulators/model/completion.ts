import type { Conversation, Turn } from "./conversation.ts";

/** How ids of answers and of uses of tools begin. */
export interface IdPrefixes {
  answer: string;
  call: string;
}

/** A complete answer, independent of the protocol: its parts in the order of streaming. */
export interface Completion {
  id: string;
  created: number;
  model: string;
  text: string;
  /** The text in pieces of a word. */
  pieces: readonly string[];
  calls: readonly { id: string; name: string; arguments: string }[];
  finish: "stop" | "tool_calls" | "length";
  /** Tokens. */
  usage: { read: number; written: number };
}

/** Real models count otherwise; four characters a token is near enough to see limits work. */
const charactersPerToken = 4;
function countTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

/** Makes an answer of a turn; `number` is part of its ids. Words beyond `maxTokens` are cut off, and the calls with them. */
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
