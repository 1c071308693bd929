import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { stepCountIs, streamText } from "ai";
import { recordingTool, called, makeGateway } from "../helpers/dev/modelTools.ts";

// Responses of real providers that the emulator does not send, from their published protocols.

let server: Server;
let origin: string;
/** The next responses, oldest first. */
const answers: string[] = [];
const heads: IncomingMessage["headers"][] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    heads.push(request.headers);
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      const bytes = Buffer.from(answers.shift() ?? "");
      // In small chunks that split lines and characters.
      const size = bytes.length < 100_000 ? 37 : 65_536;
      for (let at = 0; at < bytes.length; at += size) response.write(bytes.subarray(at, at + size));
      response.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => void server.close());
beforeEach(() => {
  called.length = 0;
  heads.length = 0;
  answers.length = 0;
});

const tools = {
  find: recordingTool("find", "Finds.", { query: { type: "string" } }, () => ({ found: 1 })),
  list: recordingTool("list", "Lists.", {}, () => ({ listed: 2 })),
};

async function ask(provider: string, ...given: string[]) {
  answers.push(...given);
  const problems: unknown[] = [];
  const { model } = makeGateway({
    ...{ AI_PROVIDER: provider, AI_BASE_URL: origin, AI_API_KEY: "key", AI_MODEL: "some-model" },
  });
  const answer = streamText({
    ...{ model, tools, prompt: "Which?", stopWhen: stepCountIs(4), maxRetries: 0 },
    onError: ({ error }) => void problems.push(error),
  });
  await answer.consumeStream({ onError: () => undefined });
  if (problems.length > 0) return { problem: problems[0] as { problem: string } };
  const steps = await answer.steps;
  const { inputTokens, outputTokens } = await answer.totalUsage;
  return {
    text: steps.map(({ text }) => text).join(""),
    called: called.map(({ name, input }) => [name, input]),
    usage: [inputTokens, outputTokens],
    reason: await answer.finishReason,
  };
}

const base = { id: "c1", object: "chat.completion.chunk", created: 1, model: "some-model" };
const data = (value: object, more: object = {}) =>
  `data: ${JSON.stringify({ ...base, ...value, ...more })}\n\n`;
const choice = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
});
const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const none = { usage: null };
const done = "data: [DONE]\n\n";
const plain =
  data(choice({ role: "assistant", content: "", refusal: null })) +
  data(choice({ content: "Så — done." })) +
  data(choice({}, "stop")) +
  data({ choices: [] }, { usage }) +
  done;

describe("a response in OpenAI's protocol is parsed", () => {
  const call = (index: number, of: object) => ({ tool_calls: [{ index, ...of }] });

  test("in OpenAI's form: two calls in pieces, null content, usage in a last chunk without choices", async () => {
    const first =
      data(choice({ role: "assistant", content: null }), { ...none, obfuscation: "x" }) +
      data(
        choice(call(0, { id: "a", type: "function", function: { name: "find", arguments: "" } })),
      ) +
      data(choice(call(0, { function: { arguments: '{"que' } })), none) +
      data(choice(call(0, { function: { arguments: 'ry":"Bar' } })), none) +
      data(choice(call(0, { function: { arguments: 'olo"}' } })), none) +
      data(
        choice(call(1, { id: "b", type: "function", function: { name: "list", arguments: "" } })),
      ) +
      data(choice(call(1, { function: { arguments: "{}" } })), none) +
      data(choice({}, "tool_calls"), none) +
      data({ choices: [] }, { usage }) +
      done;
    expect(await ask("openai-compatible", first, plain)).toEqual({
      text: "Så — done.",
      called: [
        ["find", { query: "Barolo" }],
        ["list", {}],
      ],
      usage: [22, 14],
      reason: "stop",
    });
    expect(heads[0]?.authorization).toBe("Bearer key");
  });

  test("with keep-alive comments, other line ends, a leading filter chunk, and usage at the end", async () => {
    const sent =
      ": PROCESSING\n\n: PROCESSING\n\n" +
      data({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] }) +
      data(choice({ role: "assistant", content: "One" })) +
      ": ping\n\n" +
      data(choice({ content: " two" })) +
      data(choice({ content: "" }, "stop"), { usage });
    expect(await ask("openai-compatible", sent.replaceAll("\n", "\r\n"))).toEqual({
      ...{ text: "One two", called: [], usage: [11, 7], reason: "stop" },
    });
  });

  test("with a complete call in one chunk, without an index, and the finish reason of a text", async () => {
    const one = {
      id: "",
      type: "function",
      function: { name: "find", arguments: '{"query":"x"}' },
    };
    const sent =
      data(choice({ role: "assistant", content: null, tool_calls: [one] })) +
      data(choice({}, "stop")) +
      done;
    expect(await ask("openai-compatible", sent, plain)).toMatchObject({
      text: "Så — done.",
      called: [["find", { query: "x" }]],
    });
  });

  test("with reasoning before the text, which is not shown", async () => {
    const sent =
      data(choice({ role: "assistant", content: null, reasoning_content: "Hm." })) +
      data(choice({ content: "Yes." })) +
      data(choice({}, "stop")) +
      done;
    expect(await ask("openai-compatible", sent)).toMatchObject({ text: "Yes.", reason: "stop" });
  });

  test.each([
    ["busy", { code: 429, message: "Slow down" }],
    ["busy", { type: "rate_limit_error", code: null, message: "Slow down" }],
    ["unreachable", { type: "server_error", message: "Sorry" }],
    ["nonsense", { message: "What?" }],
  ])("as %s when it reports an error midway: %j", async (problem, error) => {
    const sent = data(choice({ role: "assistant", content: "On" })) + data({ error });
    expect(await ask("openai-compatible", sent)).toMatchObject({ problem: { problem } });
  });
});

describe("a response is refused", () => {
  const piece = `data: ${"a".repeat(65_530)}\n`;

  test("with a line of more than 1 MiB", async () => {
    expect(await ask("openai-compatible", `data: ${"a".repeat(1024 * 1024)}`)).toMatchObject({
      problem: { problem: "nonsense" },
    });
  });

  test("of more than 32 MiB", async () => {
    expect(await ask("openai-compatible", piece.repeat(513))).toMatchObject({
      problem: { problem: "nonsense" },
    });
  });
});

describe("a response in Anthropic's protocol is parsed", () => {
  const event = (type: string, more: object = {}) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const start = event("message_start", {
    message: {
      ...{ id: "msg_1", type: "message", role: "assistant", model: "some-model", content: [] },
      ...{ stop_reason: null, stop_sequence: null },
      usage: {
        ...{ input_tokens: 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 5 },
        ...{ output_tokens: 1, service_tier: "standard" },
      },
    },
  });
  const block = (index: number, content_block: object, ...deltas: object[]) =>
    event("content_block_start", { index, content_block }) +
    event("ping") +
    deltas.map((delta) => event("content_block_delta", { index, delta })).join("") +
    event("content_block_stop", { index });
  const words = (index: number, ...texts: string[]) =>
    block(
      index,
      { type: "text", text: "" },
      ...texts.map((text) => ({ type: "text_delta", text })),
    );
  const use = (index: number, name: string, ...parts: string[]) =>
    block(
      index,
      { type: "tool_use", id: `toolu_${index}`, name, input: {} },
      ...parts.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    );
  const end = (stop_reason: string) =>
    event("message_delta", {
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: 7 },
    }) + event("message_stop");

  test("with text, a call in pieces and one without arguments, reasoning and usage", async () => {
    const first =
      start +
      block(
        0,
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "Hm." },
        { type: "signature_delta", signature: "c2ln" },
      ) +
      words(1, "Let me", " look. ") +
      use(2, "find", "", '{"query": "Bar', 'olo"}') +
      use(3, "list", "") +
      end("tool_use");
    expect(await ask("anthropic", first, start + words(0, "Så — done.") + end("end_turn"))).toEqual(
      {
        text: "Let me look. Så — done.",
        called: [
          ["find", { query: "Barolo" }],
          ["list", {}],
        ],
        usage: [32, 14],
        reason: "stop",
      },
    );
    expect(heads[0]).toMatchObject({ "x-api-key": "key", "anthropic-version": "2023-06-01" });
  });

  test.each([
    ["max_tokens", "length"],
    ["refusal", "content-filter"],
  ])("as one that ends with %s", async (stop, reason) => {
    expect(await ask("anthropic", start + words(0, "On") + end(stop))).toMatchObject({ reason });
  });

  const overloaded = { type: "overloaded_error", message: "Overloaded" };
  test.each([
    ["busy", event("error", { error: overloaded })],
    ["busy", start + event("error", { error: overloaded })],
    ["busy", start + words(0, "On") + event("error", { error: overloaded })],
    [
      "unreachable",
      start + words(0, "On") + event("error", { error: { type: "api_error", message: "" } }),
    ],
    ["unreachable", start + words(0, "On")],
    ["unreachable", start],
    ["nonsense", start + 'event: content_block_delta\ndata: {"type":\n\n'],
  ])("as %s when it breaks off: %#", async (problem, sent) => {
    // Sent twice, because a call that failed before its response is retried.
    expect(await ask("anthropic", sent, sent)).toMatchObject({ problem: { problem } });
  });
});

test("uses Anthropic's address by default, ignoring environment variables of the library", async () => {
  // eslint-disable-next-line no-restricted-properties, no-restricted-syntax -- variables that the library would read
  const { env } = process;
  env["ANTHROPIC_BASE_URL"] = origin;
  const asked: string[] = [];
  const fetched = jest.spyOn(globalThis, "fetch").mockImplementation((input) => {
    asked.push(input instanceof Request ? input.url : input.toString());
    return Promise.reject(new TypeError("fetch failed"));
  });
  try {
    const settings = { AI_PROVIDER: "anthropic", AI_API_KEY: "key", AI_MODEL: "some-model" };
    const { model } = makeGateway(settings);
    const answer = streamText({ model, prompt: "?", maxRetries: 0, onError: () => undefined });
    await answer.consumeStream({ onError: () => undefined });
  } finally {
    fetched.mockRestore();
    delete env["ANTHROPIC_BASE_URL"];
  }
  expect(new Set(asked)).toEqual(new Set(["https://api.anthropic.com/v1/messages"]));
});
