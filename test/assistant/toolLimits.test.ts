import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type ModelServer, startModelServer } from "../../dev/emulators/modelServer.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { openChat, question, request, textOf, toolsOf } from "../helpers/assistant/client.ts";

let model: ModelServer;
let service: Service;
let token: string;
let userId: string;

beforeAll(async () => {
  model = await startModelServer();
  service = await startService({
    env: { ...model.env, AI_REQUESTS_PER_MINUTE: "1000" },
    constants: {
      assistant: {
        toolCalls: 20,
        maxContextCharacters: 60_000,
        conversationCharacters: 100_000,
        streamsPerUser: 3,
      },
    },
  });
  ({ token, userId } = await service.login(["ai.use", "products.read"]));
  await service.database.pool.query(
    `insert into products (erp_product_number, name, description)
     select lpad(n::text, 6, '0'), 'Wine ' || n, repeat('Red and round. ', 100) from generate_series(1, 60) as n`,
  );
});
afterEach(() => model.calm());
afterAll(async () => {
  await service.stop();
  await model.stop();
});

const newChat = () => openChat(service.url, { token, id: randomUUID() });
const search = (query: string, first = 1) => ({
  name: "search_products",
  arguments: { query, first },
});
const errorsOf = (chat: ReturnType<typeof newChat>) =>
  toolsOf(chat.lastMessage).map(({ output }) => output?.["error"]);

describe("the tools of one answer", () => {
  test("run two at a time", async () => {
    const { pool } = service.database;
    const holder = await pool.connect();
    await holder.query("begin; lock table products in access exclusive mode");
    model.say(
      "",
      Array.from({ length: 10 }, () => search("wine")),
    );
    model.say("Found.");
    const chat = newChat();
    const answered = chat.sendMessage({ text: "Look ten times" });
    const waiting = async () => {
      const { rows } = await pool.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows[0]?.count ?? 0;
    };
    await waitFor("the first calls", async () => (await waiting()) >= 2);
    // The calls of the step were all started together.
    expect(await waiting()).toBe(2);
    await holder.query("rollback");
    holder.release();
    await answered;
    expect(textOf(chat.lastMessage)).toContain("Found.");
    expect(errorsOf(chat)).toEqual(Array(10).fill(undefined));
  });

  test("are used a limited number of times, and the model is told so", async () => {
    model.say(
      "",
      Array.from({ length: 24 }, () => search("nothing-like-this")),
    );
    model.say("Found.");
    const chat = newChat();
    await chat.sendMessage({ text: "Look often" });
    const errors = errorsOf(chat).filter((error) => error !== undefined);
    expect(errors).toEqual(
      Array(4).fill("An answer may use tools 20 times: answer with what you have."),
    );
    expect(textOf(chat.lastMessage)).toContain("Found.");
  });

  test("return no more than the model may read", async () => {
    model.say(
      "",
      Array.from({ length: 12 }, () => search("wine", 50)),
    );
    model.say("Found.");
    const chat = newChat();
    await chat.sendMessage({ text: "Look for much" });
    expect(errorsOf(chat).at(-1)).toMatch(/as long as they may be/);
    expect(JSON.stringify(model.requests.at(-1)?.body).length).toBeLessThan(120_000);
  });

  test("that do not exist end nothing, whatever their name", async () => {
    for (const name of ["constructor", "__proto__", "toString"]) {
      model.say("", [{ name, arguments: {} }]);
      model.say("There is none.");
      const chat = newChat();
      await chat.sendMessage({ text: "Use it" });
      expect(textOf(chat.lastMessage)).toContain("There is none.");
    }
    const { rows } = await service.database.pool.query<{ message: string }>(
      `select distinct metadata ->> 'message' as message from audit_log
       where actor_user_id = $1 and metadata::text ~ 'constructor|__proto__|toString'`,
      [userId],
    );
    expect(rows).toEqual([{ message: "There is no such tool, or its arguments are wrong." }]);
  });

  test.each([60, 3_000])("may have arguments nested %d deep, which are refused", async (depth) => {
    const list = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    model.say("", [{ name: "search_products", arguments: `{"query":${list}}` }]);
    model.say("That was wrong.");
    const id = randomUUID();
    const streamed = await request(
      service.url,
      token,
      "POST",
      "/ai/chat",
      question(id, "Look deeply"),
    );
    expect(streamed.text).toContain('"type":"finish"');
    const kept = await request(service.url, token, "GET", `/ai/conversations/${id}`);
    expect(kept.text).toContain("nested too deeply");
    expect(kept.text).toContain("That was wrong.");
    const chat = openChat(service.url, { token, id });
    model.say("Here I am.");
    await chat.sendMessage({ text: "Go on" });
    expect(textOf(chat.lastMessage)).toBe("Here I am.");
  });
});

describe("a conversation", () => {
  test("is given to the model up to its limit, also where texts look like files", async () => {
    const chat = newChat();
    for (let turn = 0; turn < 5; turn++) {
      model.say("Yes.");
      await chat.sendMessage({ text: `data:${"x".repeat(19_000)}` });
    }
    const last = JSON.stringify(model.requests.at(-1)?.body);
    expect(last.match(/data:x/g)).toHaveLength(3);
  });

  test("that is too long takes no further question", async () => {
    const chat = newChat();
    for (let turn = 0; turn < 5; turn++) {
      model.say("Yes.");
      await chat.sendMessage({ text: "x".repeat(19_500) });
    }
    const refused = await request(service.url, token, "POST", "/ai/chat", {
      ...question(chat.id, "x".repeat(10_000)),
    });
    expect(refused).toMatchObject({
      status: 409,
      json: { error: { message: "This conversation is as long as it may be: start a new one" } },
    });
    const { json } = await request(service.url, token, "GET", `/ai/conversations/${chat.id}`);
    expect(json.messages).toHaveLength(10);
  });
});

describe("the stream of an answer in progress", () => {
  test("has a limited number of readers, and ends with them", async () => {
    model.fail({ kind: "slow", chunkMs: 60_000 });
    const id = randomUUID();
    const asked = fetch(`${service.url}/ai/chat`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(question(id, "Talk")),
    });
    await waitFor("the answer to begin", async () => {
      const { rowCount } = await service.database.pool.query(
        "select from ai_answers where conversation_id = $1",
        [id],
      );
      return rowCount === 1;
    });
    const leaving = new AbortController();
    const follow = () =>
      fetch(`${service.url}/ai/chat/${id}/stream`, {
        headers: { authorization: `Bearer ${token}` },
        signal: leaving.signal,
      });
    const streams = await Promise.all([follow(), follow(), follow()]);
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { status, json } = await request(service.url, token, "GET", `/ai/chat/${id}/stream`);
    expect({ status, code: json.error.code }).toEqual({ status: 429, code: "RATE_LIMITED" });

    leaving.abort();
    const again = new AbortController();
    await waitFor("the readers to be gone", async () => {
      const response = await fetch(`${service.url}/ai/chat/${id}/stream`, {
        headers: { authorization: `Bearer ${token}` },
        signal: again.signal,
      });
      return response.status === 200;
    });
    again.abort();
    await request(service.url, token, "POST", `/ai/chat/${id}/stop`);
    await (await asked).text();
  });
});
