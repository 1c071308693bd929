import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type ModelServer, startModelServer } from "../../dev/emulators/modelServer.ts";
import { type ServerProcess, startServerProcess } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";
import {
  notesOf,
  openChat,
  question,
  request,
  shortestOfThree,
  textOf,
  toolsOf,
} from "../helpers/assistant/client.ts";

let database: TestDatabase;
let model: ModelServer;
let one: ServerProcess;
let other: ServerProcess;
let anna: { token: string; userId: string };

const start = () =>
  startServerProcess({
    database,
    env: { ...model.env, AI_REQUESTS_PER_MINUTE: "1000", SHUTDOWN_TIMEOUT_SECONDS: "1" },
  });

beforeAll(async () => {
  [database, model] = await Promise.all([createDatabase(), startModelServer({ chunkMs: 2 })]);
  [one, other] = await Promise.all([start(), start()]);
  anna = await other.login(["ai.use", "campaigns.read", "campaigns.create"]);
});
afterEach(() => model.calm());
afterAll(async () => {
  await endWorkers();
  await Promise.all([one.stop(), other.stop()]);
  await model.stop();
  await database.drop();
});

const words = (count: number) => "word ".repeat(count).trim();

/** Sends a question and disconnects once the answer has started, like a closed tab. */
async function askAndLeave(service: ServerProcess, id: string): Promise<void> {
  const leaving = new AbortController();
  const response = await fetch(`${service.url}/ai/chat`, {
    method: "POST",
    headers: { authorization: `Bearer ${anna.token}`, "content-type": "application/json" },
    body: JSON.stringify(question(id, "Talk")),
    signal: leaving.signal,
  });
  if (!response.body) throw new Error("there is no answer");
  for await (const chunk of response.body)
    if (new TextDecoder().decode(chunk as Uint8Array).includes("word")) break;
  leaving.abort();
}

async function keptAnswer(service: ServerProcess, id: string) {
  const { json } = await request(service.url, anna.token, "GET", `/ai/conversations/${id}`);
  return json.messages[1];
}

/** Whether text of the answer is stored; the first chunk may contain only its start. */
async function wordsKept(id: string): Promise<boolean> {
  const { rowCount } = await database.pool.query(
    `select from ai_answer_chunks c join ai_answers a on a.id = c.answer_id
     where a.conversation_id = $1 and c.chunks::text like '%word%'`,
    [id],
  );
  return (rowCount ?? 0) > 0;
}

describe("an answer whose client has disconnected", () => {
  test("is completed, and shown in full by any server after a reconnect", async () => {
    const id = randomUUID();
    model.say(words(400));
    await askAndLeave(one, id);
    const { json } = await request(other.url, anna.token, "GET", `/ai/conversations/${id}`);
    const chat = openChat(other.url, { token: anna.token, id, messages: json.messages });
    await chat.resumeStream();
    expect(chat.error).toBeUndefined();
    expect(textOf(chat.lastMessage)).toBe(words(400));
    expect(textOf(await keptAnswer(one, id))).toBe(words(400));
    expect((await request(one.url, anna.token, "GET", `/ai/chat/${id}/stream`)).status).toBe(204);
  });

  test("is stopped within seconds from another server", async () => {
    let id = "";
    const took = await shortestOfThree(async () => {
      id = randomUUID();
      model.say(words(5_000));
      await askAndLeave(one, id);
      const started = Date.now();
      await request(other.url, anna.token, "POST", `/ai/chat/${id}/stop`);
      const call = await waitFor("the end of the call", () => {
        const last = model.requests.at(-1);
        return last?.aborted ? last : undefined;
      });
      return (call.endedAt ?? Infinity) - started;
    });
    expect(took).toBeLessThan(5_000);
    expect(notesOf(await keptAnswer(other, id))).toEqual(["You stopped the answer."]);
  });

  test("continues after an approval with the earlier parts", async () => {
    const id = randomUUID();
    const chat = openChat(one.url, { token: anna.token, id });
    const campaign = { title: "A", price: "1", medium: "WEB", scheduledAt: "2031-01-01T00:00:00Z" };
    model.say("I propose this.", [{ name: "create_campaign", arguments: campaign }]);
    await chat.sendMessage({ text: "Make a campaign" });
    const messages = structuredClone(chat.messages);
    model.say(words(300));
    const approvalId = toolsOf(chat.lastMessage)[0]?.approval?.id ?? "";
    await chat.addToolApprovalResponse({ id: approvalId, approved: true });
    await waitFor("the answer to begin", () => textOf(chat.lastMessage).includes("word"));
    const again = openChat(other.url, { token: anna.token, id, messages });
    await again.resumeStream();
    expect(textOf(again.lastMessage)).toBe(`I propose this.\n${words(300)}`);
    expect(toolsOf(again.lastMessage)).toMatchObject([{ state: "output-available" }]);
    expect(again.messages).toHaveLength(2);
  });
});

describe("an answer whose server has stopped", () => {
  test("is stored with a note when the server receives a stop signal", async () => {
    const id = randomUUID();
    const third = await start();
    model.say(words(5_000));
    await askAndLeave(third, id);
    await third.stop();
    const answer = await keptAnswer(other, id);
    expect(textOf(answer)).toMatch(/^word/);
    expect(notesOf(answer)).toEqual([expect.stringMatching(/^The answer was interrupted/)]);
  });

  test("is settled by a worker when no client reads it, and its reservation is charged", async () => {
    const id = randomUUID();
    const third = await start();
    model.say(words(5_000));
    await askAndLeave(third, id);
    await waitFor("words to be written down", () => wordsKept(id));
    const ended = new Promise((resolve) => third.process.once("exit", resolve));
    third.process.kill("SIGKILL");
    await ended;
    const { rows } = await database.pool.query<{ reserved: string; cost: string }>(
      `update ai_answers a set alive_at = now() - interval '11 seconds' from ai_usage u
       where a.conversation_id = $1 and u.user_id = a.user_id returning a.reserved, u.cost`,
      [id],
    );
    expect(Number(rows[0]?.reserved)).toBeGreaterThan(0);
    await database.pool.query("select enqueue_job('settle_assistant', '{}')");
    await startWorkerProcess(database.url);
    await waitFor("the answer to be settled", async () => {
      const { rowCount } = await database.pool.query(
        "select from ai_answers where conversation_id = $1 and state = 'interrupted' and reserved = 0",
        [id],
      );
      return rowCount === 1;
    });
    const spent = await database.pool.query<{ cost: string }>(
      "select cost from ai_usage where user_id = $1",
      [anna.userId],
    );
    expect(Number(spent.rows[0]?.cost)).toBeCloseTo(
      Number(rows[0]?.cost) + Number(rows[0]?.reserved),
      5,
    );
    const answer = await keptAnswer(other, id);
    expect(textOf(answer)).toMatch(/^word/);
    expect(notesOf(answer)).toEqual([expect.stringMatching(/^The answer was interrupted/)]);
  });

  test("is stored with a note when the server is killed, and the conversation continues", async () => {
    const id = randomUUID();
    const third = await start();
    model.say(words(5_000));
    await askAndLeave(third, id);
    await waitFor("words to be written down", () => wordsKept(id));
    const ended = new Promise((resolve) => third.process.once("exit", resolve));
    third.process.kill("SIGKILL");
    await ended;
    const chat = openChat(other.url, { token: anna.token, id });
    const resumed = chat.resumeStream();
    await waitFor("what there is of it", () => textOf(chat.lastMessage).includes("word"));
    // Simulates that ten seconds have passed.
    await database.pool.query(
      "update ai_answers set alive_at = now() - interval '1 minute' where conversation_id = $1",
      [id],
    );
    await resumed;
    expect(notesOf(chat.lastMessage)).toEqual([
      expect.stringMatching(/^The answer was interrupted/),
    ]);
    expect(notesOf(await keptAnswer(other, id))).toHaveLength(1);
    model.say("Here I am.");
    await chat.sendMessage({ text: "Go on" });
    expect(chat.error).toBeUndefined();
    expect(textOf(chat.lastMessage)).toBe("Here I am.");
  });
});
