import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type ModelServer, startModelServer } from "../../dev/emulators/modelServer.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import {
  notesOf,
  openChat,
  question,
  request,
  textOf,
  toolsOf,
} from "../helpers/assistant/client.ts";

let model: ModelServer;
let service: Service;
let token: string;
const lookUp = [{ name: "search_products", arguments: { query: "wine" } }];

beforeAll(async () => {
  model = await startModelServer();
  service = await startService({
    env: {
      ...model.env,
      AI_TOKEN_PRICES: "0,1000",
      AI_DAILY_COST: "0.15",
      AI_REQUESTS_PER_MINUTE: "4",
    },
    constants: {
      assistant: {
        maxSteps: 3,
        maxOutputTokens: 100,
        answerTimeoutMs: 5_000,
        messageCharacters: 500,
      },
    },
  });
  // Warms up, so that the first query of a process does not count towards the time limit.
  ({ token } = await service.login(["ai.use", "products.read"]));
  model.say("", lookUp);
  await newChat().sendMessage({ text: "Hello" });
});
// Each test has its own daily budget.
beforeEach(async () => {
  ({ token } = await service.login(["ai.use", "products.read"]));
});
afterEach(() => model.calm());
afterAll(async () => {
  await service.stop();
  await model.stop();
});

const newChat = () => openChat(service.url, { token, id: randomUUID() });

describe("an answer", () => {
  test("is limited in steps, and says so", async () => {
    const before = model.requests.length;
    model.say("", lookUp, 100);
    const chat = newChat();
    await chat.sendMessage({ text: "Look it up" });
    expect(notesOf(chat.lastMessage).join()).toMatch(/may be asked 3 times for one/);
    expect(toolsOf(chat.lastMessage).length).toBeLessThanOrEqual(3);
    expect(model.requests.length - before).toBe(3);
    model.calm();
    model.say("Here I am.");
    await chat.sendMessage({ text: "Go on" });
    expect(textOf(chat.lastMessage)).toBe("Here I am.");
  });

  test("is limited in tokens, and its model call ends", async () => {
    model.fail({ kind: "endless" });
    const chat = newChat();
    await chat.sendMessage({ text: "Talk" });
    expect(notesOf(chat.lastMessage)).toEqual(["The answer was cut off: one may have 100 tokens."]);
    expect(textOf(chat.lastMessage).length).toBeLessThan(5_000);
    await waitFor("the end of the call", () => model.requests.at(-1)?.aborted);
  });

  test("is limited in time, also when the model responds slowly", async () => {
    model.fail({ kind: "slow", chunkMs: 700 });
    const chat = newChat();
    const started = Date.now();
    await chat.sendMessage({ text: "What can you do?" });
    expect(Date.now() - started).toBeLessThan(40_000);
    expect(chat.error?.message).toMatch(/did not answer in time/);
    await waitFor("the end of the call", () => model.requests.at(-1)?.aborted);
  });
});

describe("a user", () => {
  test("has a daily budget: the answer is cut off, further questions are rejected, the conversation stays", async () => {
    const chat = newChat();
    for (const words of [60, 90]) {
      model.say("word ".repeat(words));
      await chat.sendMessage({ text: "Talk" });
    }
    // The second answer got the remaining budget, and says so.
    expect(notesOf(chat.messages[1])).toEqual([]);
    expect(notesOf(chat.lastMessage)).toEqual([
      "The answer was cut off: your daily budget for the assistant is used up. It is available again tomorrow (UTC).",
    ]);
    expect(textOf(chat.lastMessage)).toMatch(/^word/);
    const usage = await request(service.url, token, "GET", "/ai/usage");
    expect(usage.json.today.cost).toBeGreaterThan(0.14);
    expect(usage.json.today.cost).toBeLessThanOrEqual(0.15);
    const refused = await request(
      service.url,
      token,
      "POST",
      "/ai/chat",
      question(chat.id, "And now?"),
    );
    expect(refused).toMatchObject({ status: 429, json: { error: { code: "RATE_LIMITED" } } });
    const wait = Number(refused.headers.get("retry-after"));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(86_400);
    const { json } = await request(service.url, token, "GET", `/ai/conversations/${chat.id}`);
    expect(json.messages).toHaveLength(4);
    const other = await service.login(["ai.use"]);
    model.say("Welcome.");
    const fresh = openChat(service.url, { token: other.token, id: randomUUID() });
    await fresh.sendMessage({ text: "Hello" });
    expect(textOf(fresh.lastMessage)).toBe("Welcome.");
  });

  test("cannot exceed the budget by parallel questions", async () => {
    model.say("word ".repeat(100), [], 3);
    const chats = [newChat(), newChat(), newChat()];
    await Promise.all(chats.map((chat) => chat.sendMessage({ text: "Talk" })));
    const usage = await request(service.url, token, "GET", "/ai/usage");
    expect(usage.json.today.cost).toBeLessThanOrEqual(0.15);
    expect(chats.flatMap((chat) => notesOf(chat.lastMessage)).join()).toMatch(/used up/);
  });

  test("has a limit of questions per minute and at once", async () => {
    const long = await request(
      service.url,
      token,
      "POST",
      "/ai/chat",
      question(randomUUID(), "x".repeat(501)),
    );
    expect(long.status).toBe(413);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        request(service.url, token, "POST", "/ai/chat", question(randomUUID(), "Hello")),
      ),
    );
    // The day's budget refuses some of the others.
    const refused = answers.filter(
      ({ status, json }) => status === 429 && /Too many questions/.test(json.error.message),
    );
    expect(refused.length).toBeGreaterThanOrEqual(2);
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});
