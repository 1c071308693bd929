import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { type TestFiles, startTestFiles } from "../helpers/fileServer.ts";
import type { Fault } from "../../dev/emulators/model/faults.ts";
import { type ModelServer, startModelServer } from "../../dev/emulators/modelServer.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import {
  notesOf,
  openChat,
  request,
  shortestOfThree,
  textOf,
  toolsOf,
} from "../helpers/assistant/client.ts";

// The main flow with the other protocol: the service's messages do not depend on the provider.

let model: ModelServer;
let files: TestFiles;
let service: Service;
let anna: { token: string; userId: string };

beforeAll(async () => {
  [model, files] = await Promise.all([
    startModelServer({ provider: "anthropic", chunkMs: 1 }),
    startTestFiles(),
  ]);
  service = await startService({
    env: {
      ...model.env,
      ...files.env(),
      AI_REQUESTS_PER_MINUTE: "1000",
    },
    constants: { assistant: { maxSteps: 3, silenceTimeoutMs: 2_000 } },
  });
  await service.database.pool.query(
    "insert into products (erp_product_number, name) values ('1001', 'Barolo Cannubi')",
  );
  anna = await service.login(["ai.use", "products.read", "campaigns.read", "campaigns.create"]);
});
afterEach(() => model.calm());
afterAll(async () => {
  await service.stop();
  await Promise.all([model.stop(), files.stop()]);
});

const newChat = () => openChat(service.url, { token: anna.token, id: randomUUID() });
const lastBody = () =>
  model.requests.at(-1)?.body as {
    messages: { role: string; content: { type: string; text?: string; source?: object }[] }[];
    tool_choice?: { type: string };
    tools: { name: string; input_schema: { type: string } }[];
  };

test("answers a question with tool calls, and makes a change after approval", async () => {
  const chat = newChat();
  await chat.sendMessage({ text: "show me Barolo" });
  expect(chat.error).toBeUndefined();
  expect(toolsOf(chat.lastMessage)).toMatchObject([
    { name: "search_products", output: { products: { nodes: [{ name: "Barolo Cannubi" }] } } },
  ]);
  expect(textOf(chat.lastMessage)).toMatch(/The tools answered:.*"name":"Barolo Cannubi"/s);
  const { tools } = lastBody();
  expect(tools.every((tool) => tool.input_schema.type === "object")).toBe(true);

  const campaign = { title: "A", price: "1", medium: "WEB", scheduledAt: "2031-01-01T00:00:00Z" };
  model.say("I propose this.", [{ name: "create_campaign", arguments: campaign }]);
  await chat.sendMessage({ text: "Make a campaign" });
  const proposed = toolsOf(chat.lastMessage)[0]?.approval;
  model.say("It is made.");
  await chat.addToolApprovalResponse({ id: proposed?.id ?? "", approved: true });
  await waitFor("the answer", () => textOf(chat.lastMessage).endsWith("It is made."));
  expect(toolsOf(chat.lastMessage)).toMatchObject([
    { state: "output-available", output: { createCampaign: { title: "A" } } },
  ]);
  const usage = await request(service.url, anna.token, "GET", "/ai/usage");
  expect(usage.json.today.inputTokens).toBeGreaterThan(1_000);
  expect(usage.json.today.outputTokens).toBeGreaterThan(10);
});

test("sends pictures, documents and tables to the model as such", async () => {
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const pdf = Buffer.from("%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n").toString(
    "base64",
  );
  const file = (mediaType: string, filename: string, bytes: string) => ({
    type: "file" as const,
    mediaType,
    filename,
    url: `data:${mediaType};base64,${bytes}`,
  });
  const chat = newChat();
  await chat.sendMessage({
    text: "What is in these files?",
    files: [
      file("image/png", "a.png", png),
      file("application/pdf", "b.pdf", pdf),
      file("text/csv", "c.csv", Buffer.from("name;price\nBarolo;40\n").toString("base64")),
    ],
  });
  expect(chat.error).toBeUndefined();
  const content = lastBody().messages.at(-1)?.content;
  expect(content).toMatchObject([
    { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
    { type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf } },
    { type: "text", text: expect.stringContaining("Barolo;40") },
    { type: "text", text: "What is in these files?" },
  ]);
});

test.each([
  [{ kind: "status", status: 429, retryAfter: "30" }, /too many requests/],
  [{ kind: "status", status: 529 }, /too many requests/],
  [{ kind: "status", status: 500, times: 2 }, /cannot be reached/],
  [{ kind: "status", status: 401 }, /administrator/],
  [{ kind: "streamError", chunks: 5, status: 529 }, /too many requests/],
  [{ kind: "cut", chunks: 5 }, /cannot be reached/],
  [{ kind: "unfinished", chunks: 5 }, /cannot be reached/],
  [{ kind: "malformed", chunks: 5 }, /invalid response/],
  [{ kind: "stall", chunks: 5 }, /did not answer in time/],
] satisfies [Fault, RegExp][])(
  "keeps the question after %j, reports the reason, and answers the next question",
  async (fault, message) => {
    const chat = newChat();
    model.fail(fault);
    await chat.sendMessage({ text: "What can you do?" });
    expect(chat.error?.message).toMatch(message);
    await chat.sendMessage({ text: "What can you do?" });
    expect(chat.error).toBeUndefined();
    expect(textOf(chat.lastMessage)).toContain("to call any of these tools");
    const { json } = await request(service.url, anna.token, "GET", `/ai/conversations/${chat.id}`);
    expect(json.messages).toHaveLength(4);
    expect(notesOf(json.messages[1])).toEqual([expect.stringMatching(message)]);
  },
);

test("ends endless tool calls with a last step without tools, and reports an empty answer", async () => {
  const chat = newChat();
  model.say("", [{ name: "search_products", arguments: { query: "wine" } }], 2);
  await chat.sendMessage({ text: "What can you do?" });
  expect(lastBody().tool_choice).toEqual({ type: "none" });
  expect(toolsOf(chat.lastMessage)).toHaveLength(2);
  model.say("");
  await chat.sendMessage({ text: "And?" });
  expect(notesOf(chat.lastMessage)).toEqual([
    "The language model said nothing. Ask again, or in other words.",
  ]);
  // An empty answer does not block the next question.
  await chat.sendMessage({ text: "What can you do?" });
  expect(chat.error).toBeUndefined();
});

test("stops an answer and its model call within seconds", async () => {
  const took = await shortestOfThree(async () => {
    const chat = newChat();
    model.fail({ kind: "endless" });
    const sent = chat.sendMessage({ text: "Talk" });
    await waitFor("the first words", () => textOf(chat.lastMessage).length > 50);
    const started = Date.now();
    await request(service.url, anna.token, "POST", `/ai/chat/${chat.id}/stop`);
    await sent;
    const call = model.requests.at(-1);
    await waitFor("the end of the call", () => call?.aborted);
    expect(notesOf(chat.lastMessage)).toEqual(["You stopped the answer."]);
    return (call?.endedAt ?? Infinity) - started;
  });
  expect(took).toBeLessThan(5_000);
});
