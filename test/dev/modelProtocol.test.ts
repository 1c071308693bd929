import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { streamText } from "ai";
import type { ModelHarness, OrderedFault } from "../helpers/modelServer.ts";
import { startModel } from "../helpers/modelServer.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { askModel, called, makeGateway } from "../helpers/dev/modelTools.ts";

let server: ModelHarness;

beforeAll(async () => {
  server = await startModel();
});
afterAll(() => server.stop());
beforeEach(async () => {
  called.length = 0;
  await server.calm();
});

const text = { type: "string" };
const fail = (fault: OrderedFault) => server.fail(fault);

/** The fields of a response or an error. */
interface Body {
  choices: { finish_reason: string; message: { content: string } }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  error: { message: string };
}

async function post(body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.env["AI_BASE_URL"] ?? ""}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.env["AI_API_KEY"] ?? ""}`, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

  return { status: response.status, body: (await response.json()) as Body };
}

const model = () => server.env["AI_MODEL"] ?? "";
const userTurn = (content: string) => ({ model: model(), messages: [{ role: "user", content }] });

describe("the protocol", () => {
  test("answers a request without streaming in one response, with tool calls and usage", async () => {
    const { status, body } = await post({
      ...userTurn("show me Barolo"),
      tools: [
        {
          type: "function",
          function: {
            name: "search_products",
            parameters: { type: "object", properties: { query: text } },
          },
        },
      ],
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      object: "chat.completion",
      choices: [
        {
          index: 0,
          finish_reason: "tool_calls",
          message: {
            role: "assistant",
            tool_calls: [
              {
                type: "function",
                function: {
                  name: "search_products",
                  arguments: '{"query":"Barolo","first":10}',
                },
              },
            ],
          },
        },
      ],
    });
    const { prompt_tokens: read, completion_tokens: wrote, total_tokens: total } = body.usage;
    expect(total).toBe(read + wrote);
  });

  test("stops at the token limit and reports it", async () => {
    const { body } = await post({ ...userTurn("What can you do?"), max_tokens: 5 });
    expect(body.choices[0]?.finish_reason).toBe("length");
    expect(body.choices[0]?.message.content.length).toBeLessThanOrEqual(20);
    expect(body.usage.completion_tokens).toBe(5);
  });

  test("lists its model and rejects a wrong key, another model and malformed requests", async () => {
    const listed = await fetch(`${server.env["AI_BASE_URL"] ?? ""}/models`, {
      headers: { authorization: `Bearer ${server.env["AI_API_KEY"] ?? ""}` },
    });
    expect(await listed.json()).toMatchObject({ data: [{ id: model(), object: "model" }] });
    const wrongKey = await post(userTurn("hello"), { authorization: "Bearer other" });
    expect(wrongKey).toMatchObject({ status: 401, body: { error: { code: "invalid_api_key" } } });
    const other = await post({ ...userTurn("hello"), model: "other" });
    expect(other).toMatchObject({ status: 404, body: { error: { code: "model_not_found" } } });
    expect(await post("{")).toMatchObject({ status: 400 });
    const wrong = await post({ model: model(), messages: [{ role: "user" }] });
    expect(wrong).toMatchObject({ status: 400, body: { error: { param: "messages.0.content" } } });
  });

  test("rejects a tool call without a result and a result without a call", async () => {
    const call = { id: "c", type: "function", function: { name: "a", arguments: "{}" } };
    const open = { role: "assistant", content: null, tool_calls: [call] };
    const result = { role: "tool", tool_call_id: "c", content: "{}" };
    const [user] = userTurn("hello").messages;
    const send = (messages: unknown[]) => post({ model: model(), messages });
    expect((await send([user, open, user])).body.error.message).toContain(
      "did not have response messages: c",
    );
    expect((await send([user, result])).status).toBe(400);
    expect((await send([user, open, result])).status).toBe(200);
  });
});

/** A conversation in Anthropic's protocol. */
async function postMessages(body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.env["AI_BASE_URL"] ?? ""}/messages`, {
    method: "POST",
    headers: {
      "x-api-key": server.env["AI_API_KEY"] ?? "",
      "anthropic-version": "2023-06-01",
      ...headers,
    },
    body: JSON.stringify({ model: model(), max_tokens: 100, ...body }),
  });
  return { status: response.status, text: await response.text() };
}

describe("Anthropic's protocol", () => {
  const tool = {
    name: "search_products",
    input_schema: { type: "object", properties: { query: text } },
  };
  const user = (content: unknown) => ({ role: "user", content });

  test("answers in one response and in named events, with tool calls and usage", async () => {
    const asked = { messages: [user("show me Barolo")], tools: [tool] };
    const whole = await postMessages(asked);
    expect(JSON.parse(whole.text)).toMatchObject({
      type: "message",
      role: "assistant",
      content: [
        { type: "text" },
        { type: "tool_use", name: "search_products", input: { query: "Barolo", first: 10 } },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
    });
    const streamed = await postMessages({ ...asked, stream: true });
    const events = [...streamed.text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
    expect([...new Set(events)]).toEqual([
      ...["message_start", "content_block_start", "ping", "content_block_delta"],
      ...["content_block_stop", "message_delta", "message_stop"],
    ]);
    const cut = JSON.parse((await postMessages({ ...asked, max_tokens: 5 })).text) as object;
    expect(cut).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 5 } });
  });

  test("rejects invalid requests like the real API", async () => {
    const use = { type: "tool_use", id: "toolu_1", name: "search_products", input: {} };
    const result = { type: "tool_result", tool_use_id: "toolu_1", content: "{}" };
    const userTurn = (...content: object[]) => ({ role: "assistant", content });
    const refused = async (body: object, headers = {}) => {
      const { status, text } = await postMessages(body, headers);
      const { error } = JSON.parse(text) as { error: { type: string; message: string } };
      return `${status} ${error.type}: ${error.message}`;
    };
    const messages = [user("hello")];
    expect(await refused({ messages }, { "x-api-key": "other" })).toMatch(
      /^401 authentication_error/,
    );
    expect(await refused({ messages }, { "anthropic-version": "" })).toMatch(/header is required/);
    expect(await refused({ messages, model: "other" })).toMatch(/^404 not_found_error/);
    expect(await refused({ messages: [user([])] })).toMatch(/^400 invalid_request_error: messages/);
    expect(await refused({ messages: [user([{ type: "text", text: "" }])] })).toMatch(/non-empty/);
    expect(await refused({ messages: [userTurn(use), user([result])], tools: [tool] })).toMatch(
      /first message must use the user role/,
    );
    const asked = [...messages, userTurn(use)];
    expect(await refused({ messages: asked, tools: [tool] })).toMatch(/without `tool_result`/);
    expect(await refused({ messages: [...asked, user("and?")], tools: [tool] })).toMatch(
      /without `tool_result`/,
    );
    expect(await refused({ messages: [user([result])], tools: [tool] })).toMatch(/unexpected/);
    expect(await refused({ messages: [...asked, user([result])] })).toMatch(/must define tools/);
    const whole = await postMessages({ messages: [...asked, user([result])], tools: [tool] });
    expect(whole.status).toBe(200);
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
    ] satisfies [string, OrderedFault][])(
      "shows the client that the model is %s: %j",
      async (problem, fault) => {
        const gateway = makeGateway(env(), { silenceTimeoutMs: 1_500 });
        await fail(fault);
        const { problem: met } = await askModel(gateway, "What can you do?");
        expect(met).toMatchObject({ name: "ModelError", problem });
        const after = await askModel(gateway, "What can you do?");
        expect(after.text).toContain("`createCampaign` Creates a campaign.");
      },
    );

    test("makes the model call an unknown tool, pass wrong arguments, or repeat a look-up", async () => {
      const gateway = makeGateway(env());
      await fail({ kind: "unknownTool" });
      const unknown = await askModel(gateway, "hello");
      expect(JSON.stringify(unknown.messages)).toContain("missing_tool");
      await fail({ kind: "wrongArguments", form: "json" });
      expect(JSON.stringify((await askModel(gateway, "hello")).messages)).toContain(
        "JSON parsing failed",
      );
      expect(called).toEqual([]);
      await fail({ kind: "toolLoop", times: 100 });
      const { reason } = await askModel(gateway, "hello");
      expect(reason).toBe("tool-calls");
      expect(called).toHaveLength(6);
    });

    test("sends an endless answer until the client disconnects", async () => {
      const gateway = makeGateway(env());
      await fail({ kind: "endless" });
      const leave = new AbortController();
      const answer = streamText({
        model: gateway.model,
        prompt: "hello",
        abortSignal: leave.signal,
      });
      let words = 0;
      for await (const _ of answer.textStream) if (++words === 50) leave.abort();
      const last = await waitFor("the model to see it", async () => {
        const entry = (await server.requests()).at(-1);
        return entry?.endedAt ? entry : undefined;
      });
      expect(last.aborted).toBe(true);
    });
  },
);

describe("a requested fault", () => {
  test("starts and ends after the requested numbers of requests", async () => {
    await fail({ kind: "status", status: 418, after: 1, times: 2 });
    const statuses = [];
    for (let turn = 0; turn < 4; turn++) statuses.push((await post(userTurn("hello"))).status);
    expect(statuses).toEqual([200, 418, 418, 200]);
  });

  test("is rejected when it is unknown", async () => {
    await expect(fail({ kind: "status", status: 200 })).rejects.toThrow(/400/);
    await expect(server.setManner("wild" as "careful")).rejects.toThrow(/careful/);
    const foreign = await fetch(`${server.controlUrl}/faults`, { method: "POST", body: "{}" });
    expect(foreign.status).toBe(415);
  });
});
