import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type ModelServer, startModelServer } from "../../dev/emulators/modelServer.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import {
  notesOf,
  openChat,
  question,
  request,
  shortestOfThree,
  textOf,
  toolsOf,
} from "../helpers/assistant/client.ts";

let model: ModelServer;
let service: Service;
let anna: { token: string; userId: string };
let bert: { token: string; userId: string };

beforeAll(async () => {
  model = await startModelServer({ chunkMs: 1 });
  service = await startService({ env: { ...model.env, AI_REQUESTS_PER_MINUTE: "1000" } });
  await service.database.pool.query(
    `insert into products (erp_product_number, name, wine_type_id, vintage)
     select '1001', 'Barolo Cannubi', id, 2019 from wine_types where name = 'Red'`,
  );
  anna = await service.login(["ai.use", "products.read", "campaigns.read", "campaigns.create"]);
  bert = await service.login(["ai.use", "campaigns.read", "campaigns.create"]);
});
afterEach(() => model.calm());
afterAll(async () => {
  await service.stop();
  await model.stop();
});

const fullLogin = "This needs a full login: a scoped token is not enough";
const newId = () => randomUUID();
const campaign = {
  title: "Autumn",
  price: "199 kr",
  medium: "EMAIL",
  scheduledAt: "2031-10-01T08:00:00Z",
};

describe("a conversation with the assistant", () => {
  test("is answered from looked-up data with the standard chat client, and stored", async () => {
    const chat = openChat(service.url, { token: anna.token, id: newId() });
    model.say("", [{ name: "search_products", arguments: { query: "barolo", first: 5 } }]);
    model.say("There is one: Barolo Cannubi.");
    await chat.sendMessage({ text: "Which Barolos have we?" });
    expect(chat.error).toBeUndefined();
    const answer = chat.lastMessage;
    expect(textOf(answer)).toBe("There is one: Barolo Cannubi.");
    expect(toolsOf(answer)).toMatchObject([
      {
        name: "search_products",
        state: "output-available",
        output: { products: { totalCount: 1, nodes: [{ name: "Barolo Cannubi" }] } },
      },
    ]);
    const kept = await request(service.url, anna.token, "GET", `/ai/conversations/${chat.id}`);
    expect(kept.json.title).toBe("Which Barolos have we?");
    expect(kept.json.messages.map((m: { role: string }) => m.role)).toEqual(["user", "assistant"]);
    expect(textOf(kept.json.messages[1])).toBe("There is one: Barolo Cannubi.");
    const { data } = await service.ask(
      `{ aiConversations { nodes { id messages { nodes { role } } } } }`,
      { token: anna.token },
    );
    expect(data.aiConversations.nodes[0]).toEqual({
      id: chat.id,
      messages: { nodes: [{ role: "user" }, { role: "assistant" }] },
    });
    const { rows } = await service.database.pool.query(
      "select metadata from audit_log where entity_type = 'AiToolCall' and entity_id = $1",
      [chat.id],
    );
    expect(rows).toMatchObject([{ metadata: { tool: "search_products", outcome: "done" } }]);
    expect(rows[0].metadata.entityIds).toHaveLength(1);
  });

  test("looks data up for a browser, whose token is in a cookie", async () => {
    const chat = openChat(service.url, {
      token: anna.token,
      id: newId(),
      headers: {
        cookie: `office_session=${anna.token}`,
        "sec-fetch-site": "same-origin",
        "x-office-console": "1",
      },
    });
    model.say("", [{ name: "search_products", arguments: { query: "barolo", first: 5 } }]);
    model.say("There is one.");
    await chat.sendMessage({ text: "Which Barolos have we?" });
    expect(toolsOf(chat.lastMessage)).toMatchObject([{ output: { products: { totalCount: 1 } } }]);
  });

  test("tells the model which fields are hidden from the user", async () => {
    const { rows } = await service.database.pool.query<{ id: string }>(
      "select id from products where erp_product_number = '1001'",
    );
    const reader = await service.login(["ai.use", "products.read"]);
    const chat = openChat(service.url, { token: reader.token, id: newId() });
    model.say("", [{ name: "get_product", arguments: { id: rows[0]?.id } }]);
    model.say("You may not see its campaigns.");
    await chat.sendMessage({ text: "Which campaigns has the Barolo?" });
    expect(toolsOf(chat.lastMessage)).toMatchObject([
      {
        output: {
          product: { name: "Barolo Cannubi", campaigns: { nodes: [] } },
          hidden: [{ path: ["product", "campaigns"], requiredPermission: "campaigns.read" }],
        },
      },
    ]);
  });

  // At each hour, one of them has another date than UTC.
  test.each(["Pacific/Auckland", "Pacific/Kiritimati", "Pacific/Pago_Pago"])(
    "is held on the date of a user in %s",
    async (timeZone) => {
      const { token, userId } = await service.login(["ai.use"]);
      await service.database.pool.query("update users set time_zone = $2 where id = $1", [
        userId,
        timeZone,
      ]);
      const date = () => new Intl.DateTimeFormat("en-CA", { timeZone }).format();
      const before = date();
      const chat = openChat(service.url, { token, id: newId() });
      model.say("Fine.");
      await chat.sendMessage({ text: "What is today?" });
      expect(chat.error).toBeUndefined();
      const seen = model.requests.at(-1)?.body as { messages: { content: string }[] };
      const told = /It is \S+, (\S+) /.exec(seen.messages[0]?.content ?? "");
      expect([before, date()]).toContain(told?.[1]);
    },
  );

  test("includes earlier messages, and an answer can be regenerated", async () => {
    const chat = openChat(service.url, { token: anna.token, id: newId() });
    model.say("One.");
    await chat.sendMessage({ text: "First?" });
    model.say("Two.");
    await chat.sendMessage({ text: "Second?" });
    const seen = model.requests.at(-1)?.body as { messages: { content: unknown }[] };
    expect(seen.messages.slice(1).map(({ content }) => content)).toEqual([
      "First?",
      "One.",
      "Second?",
    ]);
    model.say("Two again.");
    await chat.regenerate();
    const kept = await request(service.url, anna.token, "GET", `/ai/conversations/${chat.id}`);
    expect(kept.json.messages.map(textOf)).toEqual(["First?", "One.", "Second?", "Two again."]);
  });

  test("stores characters that PostgreSQL rejects as a replacement character", async () => {
    const chat = openChat(service.url, { token: anna.token, id: newId() });
    model.say("A\u0000B \ud83d C");
    await chat.sendMessage({ text: "Say something odd" });
    expect(chat.error).toBeUndefined();
    const kept = await request(service.url, anna.token, "GET", `/ai/conversations/${chat.id}`);
    expect(textOf(kept.json.messages[1])).toBe("A\ufffdB \ufffd C");
  });

  test("is accessible to its user only", async () => {
    const chat = openChat(service.url, { token: anna.token, id: newId() });
    model.say("Yes.");
    await chat.sendMessage({ text: "A secret?" });
    const path = `/ai/conversations/${chat.id}`;
    for (const [method, at, body] of [
      ["GET", path],
      ["PATCH", path, { title: "Mine" }],
      ["DELETE", path],
      ["POST", `/ai/chat/${chat.id}/stop`],
      ["POST", "/ai/chat", question(chat.id, "Mine?")],
    ] as const)
      expect(await request(service.url, bert.token, method, at, body)).toMatchObject({
        status: 404,
        json: { error: { code: "NOT_FOUND", message: "You have no conversation with this id" } },
      });
    expect(
      (await request(service.url, bert.token, "GET", `/ai/chat/${chat.id}/stream`)).status,
    ).toBe(204);
    const { data } = await service.ask(
      `query ($id: String!) { aiConversation(id: $id) { id } aiConversations { nodes { id } } }`,
      { token: bert.token, variables: { id: chat.id } },
    );
    expect(data).toEqual({ aiConversation: null, aiConversations: { nodes: [] } });
    const mutation = `mutation ($id: String!) { deleteAiConversation(id: $id) }`;
    const refused = await service.ask(mutation, {
      token: bert.token,
      variables: { id: chat.id },
    });
    expect(refused.errors?.[0]?.extensions.code).toBe("NOT_FOUND");
    await service.ask(
      `mutation ($id: String!) { renameAiConversation(id: $id, title: "Ours") { title } }`,
      { token: anna.token, variables: { id: chat.id } },
    );
    expect((await request(service.url, anna.token, "GET", path)).json.title).toBe("Ours");
    const message = "title must be 1 to 200 visible characters without spaces at its ends";
    for (const title of ["", " ", "x".repeat(201)]) {
      expect(await request(service.url, anna.token, "PATCH", path, { title })).toMatchObject({
        status: 400,
        json: { error: { code: "BAD_USER_INPUT", message, path: ["title"] } },
      });
      const { errors } = await service.ask(
        `mutation ($id: String!, $title: String!) { renameAiConversation(id: $id, title: $title) { title } }`,
        { token: anna.token, variables: { id: chat.id, title } },
      );
      expect(errors).toMatchObject([{ message, extensions: { path: ["title"] } }]);
    }
    expect((await request(service.url, anna.token, "DELETE", path)).status).toBe(204);
    expect((await request(service.url, anna.token, "GET", path)).status).toBe(404);
  });

  test("rejects scoped tokens and callers without permission, on every route", async () => {
    const { token: scoped } = await insertApiToken(service.database, anna.userId, [
      "ai.use",
      "products.read",
    ]);
    const without = await service.login(["products.read"]);
    const { token: unscoped } = await insertApiToken(service.database, without.userId);
    const id = newId();
    const routes = [
      ["POST", "/ai/chat", question(id, "Hello?")],
      ["GET", `/ai/chat/${id}/stream`],
      ["POST", `/ai/chat/${id}/stop`],
      ["GET", "/ai/conversations"],
      ["GET", `/ai/conversations/${id}`],
      ["PATCH", `/ai/conversations/${id}`, { title: "A" }],
      ["DELETE", `/ai/conversations/${id}`],
      ["GET", "/ai/usage"],
      ["POST", "/ai/attachments?name=a.csv", {}],
      ["GET", `/ai/attachments/${id}`],
      ["DELETE", `/ai/attachments/${id}`],
    ] as const;
    for (const [method, path, body] of routes) {
      const answers = await Promise.all(
        [null, scoped, unscoped, without.token].map((token) =>
          request(service.url, token, method, path, body),
        ),
      );
      expect(answers.map(({ status, json }) => [path, status, json?.error.message])).toEqual([
        [path, 401, "You are not logged in"],
        [path, 403, fullLogin],
        [path, 403, "Missing required permission: ai.use"],
        [path, 403, "Missing required permission: ai.use"],
      ]);
    }
    for (const operation of [
      "{ aiConversations { nodes { id } } }",
      `{ aiConversation(id: "${id}") { messages { nodes { id } } } }`,
      "{ aiApprovals { nodes { id } } }",
      `mutation { renameAiConversation(id: "${id}", title: "A") { id } }`,
      `mutation { deleteAiConversation(id: "${id}") }`,
    ]) {
      const { errors } = await service.ask(operation, { token: scoped });
      expect(errors?.[0]).toMatchObject({ message: fullLogin, extensions: { code: "FORBIDDEN" } });
    }
  });

  test("accepts an unscoped API token like a session of its owner", async () => {
    const { token } = await insertApiToken(service.database, anna.userId);
    const chat = openChat(service.url, { token, id: newId() });
    model.say("", [{ name: "search_products", arguments: { query: "barolo", first: 5 } }]);
    model.say("There is one.");
    await chat.sendMessage({ text: "Which Barolos have we?" });
    expect(chat.error).toBeUndefined();
    expect(toolsOf(chat.lastMessage)).toMatchObject([
      { state: "output-available", output: { products: { totalCount: 1 } } },
    ]);
    const path = `/ai/conversations/${chat.id}`;
    const { json: seen } = await request(service.url, token, "GET", path);
    expect(seen).toEqual((await request(service.url, anna.token, "GET", path)).json);
    const { data, errors } = await service.ask(
      `mutation ($id: String!) { renameAiConversation(id: $id, title: "By token") { title messages { nodes { role } } } }`,
      { token, variables: { id: chat.id } },
    );
    expect([errors, data?.renameAiConversation]).toEqual([
      undefined,
      { title: "By token", messages: { nodes: [{ role: "user" }, { role: "assistant" }] } },
    ]);

    expect((await request(service.url, token, "GET", "/ai/usage")).status).toBe(200);
    expect((await request(service.url, token, "DELETE", path)).status).toBe(204);
  });

  test("ends for a revoked API token", async () => {
    const { token, tokenId } = await insertApiToken(service.database, anna.userId);
    expect((await request(service.url, token, "GET", "/ai/conversations")).status).toBe(200);
    await service.database.pool.query("update api_tokens set revoked_at = now() where id = $1", [
      tokenId,
    ]);
    expect((await request(service.url, token, "GET", "/ai/conversations")).status).toBe(401);
  });

  test("is rejected with the position when it is malformed", async () => {
    const ask = (body: unknown) => request(service.url, anna.token, "POST", "/ai/chat", body);
    const parts = [{ type: "text", text: "Hello" }];
    expect(
      (await ask({ id: "short", message: { id: "m", role: "user", parts } })).json.error,
    ).toMatchObject({ code: "BAD_USER_INPUT", path: ["id"] });
    expect((await ask({ id: newId(), messages: [] })).json.error.path).toEqual(["messages"]);
    const blank = [{ type: "text", text: "  " }];
    expect(
      (await ask({ id: newId(), messages: [{ id: "m", role: "user", parts: blank }] })).json.error
        .message,
    ).toBe("The message is empty");
    expect(await ask(question(newId(), "x".repeat(20_001)))).toMatchObject({
      status: 413,
      json: { error: { message: "The message has 20001 characters; 20000 are allowed" } },
    });
  });
});

describe("a proposed change", () => {
  async function propose(token = anna.token) {
    const chat = openChat(service.url, { token, id: newId() });
    model.say("", [{ name: "create_campaign", arguments: campaign }]);
    await chat.sendMessage({ text: "Make a campaign for the autumn" });
    expect(chat.error).toBeUndefined();
    const [use] = toolsOf(chat.lastMessage);
    return { chat, use, approvalId: use?.approval?.id ?? "" };
  }
  const countCampaigns = async (userId: string) => {
    const { rows } = await service.database.pool.query<{ count: number }>(
      "select count(*)::int as count from campaigns where author_user_id = $1",
      [userId],
    );
    return rows[0]?.count;
  };

  test("is made once, as stored, after its user's approval", async () => {
    const before = await countCampaigns(anna.userId);
    const { chat, use, approvalId } = await propose();
    expect(use).toMatchObject({ state: "approval-requested" });
    expect(use?.approval?.descriptor).toMatchObject({
      id: approvalId,
      tool: "create_campaign",
      summary:
        "Create a campaign with title “Autumn”, price “199 kr”, medium “EMAIL”, scheduledAt “2031-10-01T08:00:00Z”, yourself as the one responsible.",
      variables: { input: { ...campaign, authorUserId: anna.userId } },
    });
    expect(await countCampaigns(anna.userId)).toBe(before);
    model.say("It is made.");
    await chat.addToolApprovalResponse({ id: approvalId, approved: true });
    await waitFor(
      "the answer",
      () => chat.status === "ready" && textOf(chat.lastMessage) === "It is made.",
    );
    expect(toolsOf(chat.lastMessage)).toMatchObject([
      { state: "output-available", output: { createCampaign: { title: "Autumn" } } },
    ]);
    expect(await countCampaigns(anna.userId)).toBe((before ?? 0) + 1);
    const { data } = await service.ask(
      `query ($id: String!) { aiConversation(id: $id) { approvals { id status } } }`,
      { token: anna.token, variables: { id: chat.id } },
    );
    expect(data.aiConversation.approvals).toEqual([{ id: approvalId, status: "USED" }]);
    const { rows } = await service.database.pool.query<{ metadata: { outcome: string } }>(
      `select metadata from audit_log where entity_type = 'AiToolCall' and entity_id = $1 order by id`,
      [chat.id],
    );
    expect(rows.map(({ metadata }) => metadata.outcome)).toEqual(["proposed", "done"]);
  });

  test("is not made when its user denies it", async () => {
    const before = await countCampaigns(anna.userId);
    const { chat, approvalId } = await propose();
    model.say("As you like.");
    await chat.addToolApprovalResponse({ id: approvalId, approved: false, reason: "Too early" });
    await waitFor(
      "the answer",
      () => chat.status === "ready" && textOf(chat.lastMessage) === "As you like.",
    );
    expect(toolsOf(chat.lastMessage)[0]?.state).toBe("output-denied");
    expect(await countCampaigns(anna.userId)).toBe(before);
  });

  test("needs the user's permission when proposed and when made", async () => {
    const { chat, approvalId } = await propose(bert.token);
    await service.database.pool.query(
      `delete from role_permissions where permission_id = (select id from permissions where key = 'campaigns.create')
       and role_id in (select role_id from user_roles where user_id = $1)`,
      [bert.userId],
    );
    model.say("I see.");
    await chat.addToolApprovalResponse({ id: approvalId, approved: true });
    await waitFor(
      "the answer",
      () => chat.status === "ready" && textOf(chat.lastMessage) === "I see.",
    );
    const refusal = { error: "Missing required permission: campaigns.create" };
    expect(toolsOf(chat.lastMessage)).toMatchObject([{ output: refusal }]);
    expect(await countCampaigns(bert.userId)).toBe(0);

    const again = openChat(service.url, { token: bert.token, id: newId() });
    model.say("", [{ name: "create_campaign", arguments: campaign }]);
    model.say("You may not.");
    await again.sendMessage({ text: "Make a campaign" });
    expect(toolsOf(again.lastMessage)).toMatchObject([
      { state: "output-available", output: refusal },
    ]);
  });

  test("lapses when the conversation continues without an approval", async () => {
    const { chat, approvalId } = await propose();
    model.say("Something else.");
    await chat.sendMessage({ text: "What is the weather?" });
    const kept = await request(service.url, anna.token, "GET", `/ai/conversations/${chat.id}`);
    expect(toolsOf(kept.json.messages[1])).toMatchObject([{ state: "output-denied" }]);
    const { data } = await service.ask(
      `query ($id: String!) { aiConversation(id: $id) { approvals { id status } } }`,
      { token: anna.token, variables: { id: chat.id } },
    );
    expect(data.aiConversation.approvals).toEqual([{ id: approvalId, status: "EXPIRED" }]);
  });
});

describe("an unfinished answer", () => {
  const slowly = "word ".repeat(2_000);

  test("stops within seconds, and its text is stored", async () => {
    let id = "";
    const took = await shortestOfThree(async () => {
      id = newId();
      const chat = openChat(service.url, { token: anna.token, id });
      model.say(slowly);
      const sent = chat.sendMessage({ text: "Talk" });
      await waitFor("the first words", () => textOf(chat.lastMessage).length > 50);
      const started = Date.now();
      const stopped = await request(service.url, anna.token, "POST", `/ai/chat/${id}/stop`);
      expect(stopped.json).toEqual({ stopped: true });
      await sent;
      const call = model.requests.at(-1);
      await waitFor("the end of the call", () => call?.aborted);
      return (call?.endedAt ?? Infinity) - started;
    });
    expect(took).toBeLessThan(5_000);
    const kept = await request(service.url, anna.token, "GET", `/ai/conversations/${id}`);
    expect(textOf(kept.json.messages[1])).toMatch(/^word word/);
    expect(notesOf(kept.json.messages[1])).toEqual(["You stopped the answer."]);
  });

  test("blocks a second question until it ends", async () => {
    const chat = openChat(service.url, { token: anna.token, id: newId() });
    model.say(slowly);
    const sent = chat.sendMessage({ text: "Talk" });
    await waitFor("the first words", () => textOf(chat.lastMessage).length > 5);
    expect(
      await request(service.url, anna.token, "POST", "/ai/chat", question(chat.id, "And?")),
    ).toMatchObject({ status: 409, json: { error: { code: "CONFLICT" } } });
    await request(service.url, anna.token, "POST", `/ai/chat/${chat.id}/stop`);
    await sent;
  });
});
