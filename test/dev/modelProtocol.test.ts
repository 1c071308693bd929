import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { streamText } from "ai";
import type { Call } from "../../dev/emulators/model/conversation.ts";
import type { Fault } from "../../dev/emulators/model/faults.ts";
import { type ModelServer, startModelServer } from "../../dev/emulators/modelServer.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { askModel, called, makeGateway } from "../helpers/dev/modelTools.ts";

let server: ModelServer;

beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.stop());
beforeEach(() => {
  called.length = 0;
  server.calm();
});

async function post(path: string, body: unknown, key = server.env["AI_API_KEY"] ?? "") {
  const response = await fetch(`${server.env["AI_BASE_URL"] ?? ""}${path}`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

const model = () => server.env["AI_MODEL"] ?? "";

describe("OpenAI's protocol", () => {
  const call = { id: "c", type: "function", function: { name: "find", arguments: "{}" } };
  const tool = { type: "function", function: { name: "find" } };
  const user = { role: "user", content: "hello" };
  const calls = { role: "assistant", content: null, tool_calls: [call] };
  const result = { role: "tool", tool_call_id: "c", content: "{}" };
  const send = (body: object, key?: string) =>
    post("/chat/completions", { model: model(), stream: true, messages: [user], ...body }, key);

  test("stops at the token limit and reports it", async () => {
    const { text } = await send({ max_tokens: 5, stream_options: { include_usage: true } });
    expect(text).toContain('"finish_reason":"length"');
    expect(text).toContain('"completion_tokens":5');
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });

  test("accepts a tool call with its result", async () => {
    const answer = await send({ messages: [user, calls, result], tools: [tool] });
    expect(answer.status).toBe(200);
  });

  test.each([
    ["another model", { model: "other" }, 404, /no such model/],
    ["a message without content", { messages: [{ role: "user" }] }, 400, /messages\[0\]/],
    ["an unknown role", { messages: [{ ...user, role: "robot" }] }, 400, /messages\[0\]/],
    ["a fraction of a token", { max_tokens: 1.5 }, 400, /max_tokens/],
    ["an answer at once", { stream: false }, 400, /only streams/],
    [
      "a call without a result",
      { messages: [user, calls], tools: [tool] },
      400,
      /without a result/,
    ],
    [
      "a question before the result",
      { messages: [user, calls, user, result], tools: [tool] },
      400,
      /without a result/,
    ],
    [
      "a result without a call",
      { messages: [user, result], tools: [tool] },
      400,
      /without a tool call/,
    ],
  ])("rejects %s", async (_what, body, status, reason) => {
    const answer = await send(body);
    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(reason);
  });

  test("rejects a wrong key", async () => {
    expect((await send({}, "other")).status).toBe(401);
  });

  test("rejects a body that is not JSON", async () => {
    expect((await post("/chat/completions", "{")).status).toBe(400);
  });
});

describe("Anthropic's protocol", () => {
  const tool = { name: "search_products", input_schema: { type: "object" } };
  const said = (text: string) => [{ type: "text", text }];
  const user = (content: unknown) => ({ role: "user", content });
  const use = { type: "tool_use", id: "toolu_1", name: "search_products", input: {} };
  const calls = { role: "assistant", content: [use] };
  const result = user([{ type: "tool_result", tool_use_id: "toolu_1", content: "{}" }]);
  const hello = user(said("hello"));
  const send = (body: object) =>
    post("/messages", { model: model(), max_tokens: 100, stream: true, tools: [tool], ...body });

  test("answers in named events, with tool calls and usage", async () => {
    const { text } = await send({ messages: [user(said("show me Barolo"))] });
    const events = [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
    expect([...new Set(events)]).toEqual([
      ...["message_start", "content_block_start", "ping", "content_block_delta"],
      ...["content_block_stop", "message_delta", "message_stop"],
    ]);
    expect(text).toContain('"stop_reason":"tool_use"');
    expect(text).toMatch(/"usage":\{"output_tokens":\d+\}/);
  });

  test("stops at the token limit and reports it", async () => {
    const { text } = await send({ messages: [hello], max_tokens: 5 });
    expect(text).toMatch(/"stop_reason":"max_tokens".*"output_tokens":5/);
  });

  test("accepts a tool call with its result", async () => {
    expect((await send({ messages: [hello, calls, result] })).status).toBe(200);
  });

  test.each([
    ["no token limit", { messages: [hello], max_tokens: undefined }, /max_tokens/],
    ["an empty message", { messages: [user([])] }, /messages/],
    ["an empty text", { messages: [user(said(""))] }, /non-empty/],
    ["a call of the user", { messages: [user([use])] }, /messages/],
    ["a system message", { messages: [{ role: "system", content: said("a") }] }, /messages/],
    ["a first message of the assistant", { messages: [calls, result] }, /must use the user role/],
    ["a call without a result", { messages: [hello, calls] }, /without a result/],
    ["a question before the result", { messages: [hello, calls, hello] }, /without a result/],
    ["a result without a call", { messages: [hello, result] }, /without a tool call/],
    ["calls without tools", { messages: [hello, calls, result], tools: [] }, /must define tools/],
  ])("rejects %s", async (_what, body, reason) => {
    const { status, text } = await send(body);
    expect(status).toBe(400);
    expect(text).toMatch(reason);
  });
});

describe.each(["openai-compatible", "anthropic"])(
  "a requested fault of the kind %s",
  (provider) => {
    const env = () => ({ ...server.env, AI_PROVIDER: provider });

    test.each([
      ["busy", { kind: "status", status: 429, retryAfter: "1" }],
      ["busy", { kind: "status", status: 529 }],
      ["unreachable", { kind: "status", status: 500, times: 2 }],
      ["refused", { kind: "status", status: 401 }],
      ["unreachable", { kind: "drop", times: 2 }],
      ["unreachable", { kind: "cut", chunks: 2 }],
      ["unreachable", { kind: "unfinished", chunks: 2 }],
      ["nonsense", { kind: "malformed", chunks: 2 }],
      ["unreachable", { kind: "streamError", chunks: 2 }],
      ["busy", { kind: "streamError", chunks: 4, status: provider === "anthropic" ? 529 : 429 }],
      ["refused", { kind: "status", status: 404 }],
      ["unreachable", { kind: "page", times: 2 }],
      ["slow", { kind: "stall", chunks: 2 }],
      ["slow", { kind: "slow", ms: 20_000 }],
    ] satisfies [string, Fault][])(
      "shows the client that the model is %s: %j",
      async (problem, fault) => {
        const gateway = makeGateway(env(), { silenceTimeoutMs: 1_500 });
        server.fail(fault);
        const { problem: met } = await askModel(gateway, "What can you do?");
        expect(met).toMatchObject({ name: "ModelError", problem });
        const after = await askModel(gateway, "What can you do?");
        expect(after.text).toContain("createCampaign");
      },
    );

    test("shows the client an unknown tool, wrong arguments and repeated calls", async () => {
      const gateway = makeGateway(env());
      const say = (name: string, given: Call["arguments"], times = 1) =>
        server.say("", [{ name, arguments: given }], times);
      say("missing_tool", {});
      const unknown = await askModel(gateway, "hello");
      expect(JSON.stringify(unknown.messages)).toContain("missing_tool");
      say("search_products", '{"half": ');
      const truncated = await askModel(gateway, "hello");
      expect(JSON.stringify(truncated.messages)).toContain("JSON parsing failed");
      expect(called).toEqual([]);
      say("search_products", { query: "wine" }, 100);
      const { reason } = await askModel(gateway, "hello");
      expect(reason).toBe("tool-calls");
      expect(called).toHaveLength(6);
    });

    test("sends an endless answer until the client disconnects", async () => {
      const gateway = makeGateway(env());
      server.fail({ kind: "endless" });
      const leave = new AbortController();
      const answer = streamText({
        model: gateway.model,
        prompt: "hello",
        abortSignal: leave.signal,
      });
      let words = 0;
      for await (const _ of answer.textStream) if (++words === 50) leave.abort();
      await waitFor("the model to see it", () => server.requests.at(-1)?.aborted);
    });
  },
);
