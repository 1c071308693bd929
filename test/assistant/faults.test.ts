import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { Call } from "../../dev/emulators/model/conversation.ts";
import type { Fault } from "../../dev/emulators/model/faults.ts";
import { type ModelServer, startModelServer } from "../../dev/emulators/modelServer.ts";
import { type Service, startService } from "../helpers/service.ts";
import { notesOf, openChat, request, textOf, toolsOf } from "../helpers/assistant/client.ts";

let model: ModelServer;
let service: Service;
let anna: { token: string };

beforeAll(async () => {
  model = await startModelServer();
  const env = { ...model.env, AI_REQUESTS_PER_MINUTE: "1000" };
  service = await startService({ env, constants: { assistant: { silenceTimeoutMs: 1_500 } } });
  anna = await service.login(["ai.use", "products.read"]);
});
afterEach(() => model.calm());
afterAll(async () => {
  await service.stop();
  await model.stop();
});

const newChat = () => openChat(service.url, { token: anna.token, id: randomUUID() });

/** The conversation as stored on the server. */
async function kept(id: string) {
  const { json } = await request(service.url, anna.token, "GET", `/ai/conversations/${id}`);
  return json.messages as Parameters<typeof textOf>[0][];
}

const secret = "internal-host-7 says: key sk-12345 is over its quota";

describe("when the model", () => {
  test.each([
    ["fails", { kind: "status", status: 500, times: 2, message: secret }, /cannot be reached/],
    [
      "is busy",
      { kind: "status", status: 429, retryAfter: "30", message: secret },
      /too many requests/,
    ],
    ["refuses the key", { kind: "status", status: 401, message: secret }, /administrator/],
    ["hangs up", { kind: "drop", times: 2 }, /cannot be reached/],
    ["is silent at first", { kind: "slow", ms: 60_000 }, /did not answer in time/],
    ["falls silent", { kind: "stall", chunks: 4 }, /did not answer in time/],
    ["breaks off", { kind: "cut", chunks: 4 }, /cannot be reached/],
    ["ends without a reason", { kind: "unfinished", chunks: 4 }, /cannot be reached/],
    ["sends broken JSON", { kind: "malformed", chunks: 4 }, /invalid response/],
    [
      "reports an error midway",
      { kind: "streamError", chunks: 4, message: secret },
      /cannot be reached/,
    ],
    ["sends a page", { kind: "page", times: 2 }, /cannot be reached/],
  ] satisfies [string, Fault, RegExp][])(
    "%s, the user gets a clear message, nothing is lost, and the next question is answered",
    async (_what, fault, message) => {
      const chat = newChat();
      model.fail(fault);
      await chat.sendMessage({ text: "What can you do?" });
      expect(chat.error?.message).toMatch(message);
      const messages = await kept(chat.id);
      expect(textOf(messages[0])).toBe("What can you do?");
      expect(notesOf(messages[1])).toEqual([chat.error?.message]);
      expect(JSON.stringify([messages, chat.error])).not.toMatch(/internal-host|sk-12345/);
      await chat.sendMessage({ text: "What can you do?" });
      expect(chat.error).toBeUndefined();
      expect(textOf(chat.lastMessage)).toContain("to call any of these tools");
      expect((await kept(chat.id)).map((said) => said?.role)).toEqual([
        ...["user", "assistant", "user", "assistant"],
      ]);
    },
  );

  test("returns nothing or an invalid tool call, the conversation continues", async () => {
    const chat = newChat();
    const call = (name: string, given: Call["arguments"]) => () =>
      model.say("", [{ name, arguments: given }]);
    const answers = {
      silence: () => model.say(""),
      "an unknown tool": call("missing_tool", { of: "nothing" }),
      "truncated arguments": call("search_products", '{"half": '),
      "wrong arguments": call("search_products", { wrong: 1, query: { wrong: [[]] } }),
      "no usage": () => model.fail({ kind: "noUsage" }),
    };
    for (const [what, script] of Object.entries(answers)) {
      script();
      await chat.sendMessage({ text: `What can you do? ${what}` });
      expect(chat.error).toBeUndefined();
      const ran = toolsOf(chat.lastMessage).filter(({ state }) => state === "output-available");
      expect(ran).toEqual([]);
      expect(JSON.stringify(chat.lastMessage)).not.toContain("Something went wrong");
      expect(notesOf(chat.lastMessage)).toEqual(
        what === "silence" ? [expect.stringMatching(/said nothing/)] : [],
      );
    }
    expect(service.output()).not.toContain("answer failed");
    await chat.sendMessage({ text: "What can you do?" });
    expect(textOf(chat.lastMessage)).toContain("to call any of these tools");
  });

  // The last test, because it opens the circuit for a while.
  test("fails repeatedly, the circuit opens and questions are rejected at once", async () => {
    model.fail({ kind: "status", status: 503, times: 1000 });
    for (let turn = 0; turn < 3; turn++) await newChat().sendMessage({ text: "Hello" });
    const asked = model.requests.length;
    const chat = newChat();
    await chat.sendMessage({ text: "Hello" });
    expect(chat.error?.message).toMatch(/requests are paused/);
    expect(model.requests.length).toBe(asked);
    expect(textOf((await kept(chat.id))[0])).toBe("Hello");
  });
});
