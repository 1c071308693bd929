import { readMessagesRequest } from "./anthropicRequest.ts";
import type { Completion } from "./completion.ts";
import type { Dialect, Frame, FrameOptions } from "./dialect.ts";
import type { ModelProblem } from "./problem.ts";

/**
 * Anthropic's Messages protocol. Its streams always report the usage, so the fault `noUsage` does not change them.
 */
export const anthropicDialect: Dialect = {
  ids: { answer: "msg_", call: "toolu_" },
  read: readMessagesRequest,
  frames,
  terminator: "",
  whole,
  problem,
  problemFrame: (of) => ({ event: "error", data: problem(of) }),
};

const reasons = { stop: "end_turn", tool_calls: "tool_use", length: "max_tokens" } as const;

function whole({ id, model, text, calls, finish, usage }: Completion) {
  const content = [
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...calls.map((call) => ({
      type: "tool_use",
      id: call.id,
      name: call.name,
      input: inputOf(call.arguments),
    })),
  ];
  return {
    ...{ id, type: "message", role: "assistant", model, content },
    ...{ stop_reason: reasons[finish], stop_sequence: null },
    usage: { input_tokens: usage.read, output_tokens: usage.written },
  };
}

/** Streams the message without content, a block of text, a block for each tool call, and the stop reason. */
function* frames(answer: Completion, { isEndless }: FrameOptions): Generator<Frame> {
  const { id, model, pieces, calls, finish, usage } = answer;
  yield frame("message_start", {
    message: {
      ...{ id, type: "message", role: "assistant", model, content: [] },
      ...{ stop_reason: null, stop_sequence: null },
      usage: {
        ...{ input_tokens: usage.read, output_tokens: 1 },
        ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    },
  });
  let index = 0;
  const delta = (of: object) => frame("content_block_delta", { index, delta: of });
  if (pieces.length > 0 || isEndless) {
    yield frame("content_block_start", { index, content_block: { type: "text", text: "" } });
    yield frame("ping", {});
    for (const text of pieces) yield delta({ type: "text_delta", text });
    while (isEndless) yield delta({ type: "text_delta", text: " and so on" });
    yield frame("content_block_stop", { index });
    index++;
  }
  for (const call of calls) {
    const start = { type: "tool_use", id: call.id, name: call.name, input: {} };
    yield frame("content_block_start", { index, content_block: start });
    const half = Math.ceil(call.arguments.length / 2);
    for (const part of ["", call.arguments.slice(0, half), call.arguments.slice(half)])
      yield delta({ type: "input_json_delta", partial_json: part });
    yield frame("content_block_stop", { index });
    index++;
  }
  yield frame("message_delta", {
    delta: { stop_reason: reasons[finish], stop_sequence: null },
    usage: { output_tokens: usage.written },
  });
  yield frame("message_stop", {});
}

function frame(type: string, more: object): Frame {
  return { event: type, data: { type, ...more } };
}

/** Invalid JSON, which a fault can produce, becomes an empty object: only a stream can carry it. */
function inputOf(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return {};
  }
}

function problem({ status, message }: ModelProblem) {
  const type = types[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
  return { type: "error", error: { type, message }, request_id: "req_emulator" };
}

const types: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error",
};
