import type { ChatRequest } from "./protocol.ts";
import type { Turn } from "./turn.ts";

/** A finished answer as the protocol has it: its parts in the order in which they are streamed. */
export interface Completion {
  id: string;
  created: number;
  model: string;
  /** Text in pieces of a word. */
  pieces: readonly string[];
  calls: readonly { id: string; name: string; arguments: string }[];
  finish: "stop" | "tool_calls" | "length";
  usage: Usage;
}

interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** Real models count otherwise; four characters a token is near enough to see limits work. */
const charactersPerToken = 4;
export function countTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

/** Makes an answer of a turn; `number` makes its ids. Words beyond `max_tokens` are cut off, and with them the calls. */
export function complete(request: ChatRequest, turn: Turn, number: number): Completion {
  const id = `chatcmpl-${number}`;
  const calls = turn.calls.map((call, index) => ({
    id: `call_${number}_${index}`,
    name: call.name,
    arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
  }));
  const limit = request.max_completion_tokens ?? request.max_tokens ?? Infinity;
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
  const completion = Math.min(wanted, limit);
  const prompt = countTokens(JSON.stringify([request.messages, request.tools ?? []]));
  return {
    id,
    created: Math.floor(Date.now() / 1000),
    model: request.model,
    pieces: kept,
    calls: cut ? [] : calls,
    finish: cut ? "length" : calls.length > 0 ? "tool_calls" : "stop",
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
    },
  };
}

export function piecesOf(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
}

/** The answer in one, for those who do not want a stream. */
export function wholeAnswer({ id, created, model, pieces, calls, finish, usage }: Completion) {
  const toolCalls = calls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  }));
  const message = {
    role: "assistant",
    content: pieces.length === 0 ? null : pieces.join(""),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
  return { id, object: "chat.completion", created, model, choices, usage };
}

/** How a stream is to end. */
interface ChunkOptions {
  withUsage: boolean;
  /** Words without end. */
  isEndless: boolean;
}

/** The answer in the chunks of a stream: first the role, then words, then calls with their arguments in halves, then why it ends. */
export function* chunksOf(
  answer: Completion,
  { withUsage, isEndless }: ChunkOptions,
): Generator<object> {
  const { id, created, model } = answer;
  const chunk = (choices: object[], more: object = {}) => ({
    ...{ id, object: "chat.completion.chunk", created, model, choices },
    ...(withUsage && { usage: null }),
    ...more,
  });
  const delta = (change: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: change, logprobs: null, finish_reason: finish }]);
  yield delta({ role: "assistant", content: answer.pieces.length === 0 ? null : "" });
  for (const content of answer.pieces) yield delta({ content });
  while (isEndless) yield delta({ content: " and so on" });
  for (const [index, call] of answer.calls.entries()) {
    const half = Math.ceil(call.arguments.length / 2);
    const begun = {
      index,
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: "" },
    };
    yield delta({ tool_calls: [begun] });
    for (const part of [call.arguments.slice(0, half), call.arguments.slice(half)])
      yield delta({ tool_calls: [{ index, function: { arguments: part } }] });
  }
  yield delta({}, answer.finish);
  if (withUsage) yield chunk([], { usage: answer.usage });
}
