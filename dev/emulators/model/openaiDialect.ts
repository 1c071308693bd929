import type { Completion } from "./completion.ts";
import type { Dialect, Frame, FrameOptions } from "./dialect.ts";
import { readChatRequest } from "./openaiRequest.ts";
import type { ModelProblem } from "./problem.ts";

/** OpenAI's chat completions protocol, which most endpoints speak. */
export const openaiDialect: Dialect = {
  ids: { answer: "chatcmpl-", call: "call_" },
  read: readChatRequest,
  frames,
  terminator: "data: [DONE]\n\n",
  whole,
  problem,
  problemFrame: (of) => ({ data: problem(of) }),
};

function whole({ id, created, model, text, calls, finish, usage }: Completion) {
  const toolCalls = calls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  }));
  const message = {
    role: "assistant",
    content: text === "" ? null : text,
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
  return { id, object: "chat.completion", created, model, choices, usage: usageOf(usage) };
}

/** Streams the role, the text, the tool calls with their arguments in halves, the finish reason, and the usage. */
function* frames(answer: Completion, { withUsage, isEndless }: FrameOptions): Generator<Frame> {
  const { id, created, model } = answer;
  const chunk = (choices: object[], more: object = {}): Frame => ({
    data: {
      ...{ id, object: "chat.completion.chunk", created, model, choices },
      ...(withUsage && { usage: null }),
      ...more,
    },
  });
  const delta = (change: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: change, logprobs: null, finish_reason: finish }]);
  yield delta({ role: "assistant", content: answer.pieces.length === 0 ? null : "" });
  for (const content of answer.pieces) yield delta({ content });
  while (isEndless) yield delta({ content: " and so on" });
  for (const [index, call] of answer.calls.entries()) {
    const half = Math.ceil(call.arguments.length / 2);
    const start = {
      index,
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: "" },
    };
    yield delta({ tool_calls: [start] });
    for (const part of [call.arguments.slice(0, half), call.arguments.slice(half)])
      yield delta({ tool_calls: [{ index, function: { arguments: part } }] });
  }
  yield delta({}, answer.finish);
  if (withUsage) yield chunk([], { usage: usageOf(answer.usage) });
}

function usageOf({ read, written }: Completion["usage"]) {
  return { prompt_tokens: read, completion_tokens: written, total_tokens: read + written };
}

function problem({ status, message, param, code }: ModelProblem) {
  const type = types[status] ?? (status >= 500 ? "server_error" : "invalid_request_error");
  return { error: { message, type, param, code } };
}

const types: Readonly<Record<number, string>> = {
  401: "invalid_request_error",
  403: "permission_error",
  429: "rate_limit_error",
};
