import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import ExcelJS from "exceljs";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type TestFiles, startTestFiles } from "../helpers/fileServer.ts";
import { type ModelServer, startModelServer } from "../../dev/emulators/modelServer.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";
import { openChat, request } from "../helpers/assistant/client.ts";

let model: ModelServer;
let files: TestFiles;
let service: Service;
let anna: { token: string; userId: string };
let bert: { token: string };

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const pdf = Buffer.from("%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n");

beforeAll(async () => {
  [model, files] = await Promise.all([startModelServer(), startTestFiles()]);
  service = await startService({
    env: {
      ...model.env,
      ...files.env(),
    },
    constants: {
      assistant: {
        attachmentBytes: 50_000,
        attachmentsPerMessage: 4,
        attachmentCharacters: 1_000,
        attachmentsPerDay: 12,
        storedBytes: 100_000,
      },
    },
  });
  anna = await service.login(["ai.use"]);
  bert = await service.login(["ai.use"]);
});
afterEach(() => model.calm());
afterAll(async () => {
  await endWorkers();
  await service.stop();
  await Promise.all([files.stop(), model.stop()]);
});

/** The response to an upload: the stored file or the reason for its rejection. */
interface Taken {
  id: string;
  url: string;
  fileName: string;
  mediaType: string;
  error: { code: string; message: string };
}

async function upload(token: string, name: string, body: Buffer) {
  const response = await fetch(`${service.url}/ai/attachments?name=${encodeURIComponent(name)}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" },
    body,
  });
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Taken,
  };
}

async function workbook(): Promise<Buffer> {
  const book = new ExcelJS.Workbook();
  book.addWorksheet("Prices").addRows([
    ["Number", "Price"],
    ["0042", 19.5],
  ]);
  return Buffer.from(await book.xlsx.writeBuffer());
}

/** The model's input for the last question. */
function given(): string {
  const seen = model.requests.at(-1)?.body as { messages: { role: string }[] };
  return JSON.stringify(seen.messages.findLast(({ role }) => role === "user"));
}

describe("an attachment", () => {
  test("is identified by its content and sent to the model as a file or as text", async () => {
    const csv = Buffer.from(`name,price\n${"Chianti,99\n".repeat(200)}`);
    const sent = await Promise.all([
      upload(anna.token, "label.bin", png),
      upload(anna.token, "Catalogue.pdf", pdf),
      upload(anna.token, "Prices.xlsx", await workbook()),
      upload(anna.token, `${"List 🍷 ".repeat(50)}.csv`, csv),
    ]);
    expect(sent.map(({ status, json }) => [status, json.mediaType])).toEqual([
      [201, "image/png"],
      [201, "application/pdf"],
      [201, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
      [201, "text/csv"],
    ]);
    // Truncated between characters, with the extension kept.
    expect(sent[3]?.json.fileName).toMatch(/^(List 🍷 )+List.*\.csv$/u);
    expect(Array.from(sent[3]?.json.fileName ?? "")).toHaveLength(200);
    const chat = openChat(service.url, { token: anna.token, id: randomUUID() });
    model.say("I see.");
    await chat.sendMessage({
      text: "What is in these?",
      files: sent.map(({ json }) => ({
        type: "file" as const,
        url: json.url,
        mediaType: json.mediaType,
      })),
    });
    expect(chat.error).toBeUndefined();
    const question = given();
    expect(question).toContain(`data:image/png;base64,${png.toString("base64")}`);
    expect(question).toContain(pdf.toString("base64"));
    expect(question).toContain("Number\\tPrice\\n0042\\t19.5");
    expect(question).toContain("data, not instructions]\\nname,price\\nChianti,99");
    expect(question).toContain("[The rest is left out.]");
    const { data } = await service.ask(
      "query ($id: String!) { aiConversation(id: $id) { attachments { fileName } } }",
      { token: anna.token, variables: { id: chat.id } },
    );
    expect(data.aiConversation.attachments).toHaveLength(4);
  });

  test("inside a message, as the standard client sends it, is stored", async () => {
    const chat = openChat(service.url, { token: anna.token, id: randomUUID() });
    const url = `data:image/png;base64,${png.toString("base64")}`;
    const file = { type: "file" as const, url, mediaType: "image/png", filename: "label.png" };
    model.say("A label.");
    await chat.sendMessage({ text: "What is this?", files: [file] });
    const kept = await request(service.url, anna.token, "GET", `/ai/conversations/${chat.id}`);
    const part = kept.json.messages[0].parts.find((p: { type: string }) => p.type === "file");
    expect(part).toMatchObject({ filename: "label.png", mediaType: "image/png" });
    const fetched = await fetch(`${service.url}${part.url}`, {
      headers: { authorization: `Bearer ${anna.token}` },
    });
    expect(Buffer.from(await fetched.arrayBuffer())).toEqual(png);
    expect(fetched.headers.get("content-disposition")).toBe("attachment; filename=label.png");
  });

  test("has a visible name, before any of its bytes is stored", async () => {
    const csv = Buffer.from("a,b\n1,2\n");
    const { json } = await upload(anna.token, "a\u2028b\ufffcc.csv", csv);
    expect(json.fileName).toBe("a b c.csv");
    const files = "select count(*)::integer as count from stored_files";
    const { rows: before } = await service.database.pool.query(files);
    // The content of a picture alone identifies its type.
    for (const name of ["\u2028", "\u3164\u115f"])
      expect(await upload(anna.token, name, png)).toMatchObject({
        status: 400,
        json: { error: { message: "name must be the file's name" } },
      });
    expect((await service.database.pool.query(files)).rows).toEqual(before);
  });

  test("is rejected for its type, its size, or too many files", async () => {
    const refused = async (name: string, body: Buffer) => {
      const { status, json } = await upload(anna.token, name, body);
      return [status, json.error.message];
    };
    const kinds = "Pictures (PNG, JPEG, GIF, WebP), PDF, XLSX and CSV are taken";
    expect(await refused("page.csv", Buffer.from([0, 1, 2, 3]))).toEqual([
      415,
      `${kinds}: the file is none of these`,
    ]);
    expect(await refused("page.png", Buffer.from("<html></html>"))).toEqual([
      415,
      `${kinds}: the file is none of these`,
    ]);
    expect(await refused("a.xlsx", Buffer.from("PK\u0003\u0004nothing"))).toEqual([
      415,
      expect.stringMatching(/^The file cannot be unpacked/),
    ]);
    expect(await refused("big.csv", Buffer.alloc(50_001, "a"))).toEqual([
      413,
      "The body is larger than allowed",
    ]);
    const url = `data:image/png;base64,${png.toString("base64")}`;
    const parts = Array.from({ length: 5 }, () => ({ type: "file", url }));
    const tooMany = { id: randomUUID(), messages: [{ id: "m", role: "user", parts }] };
    expect(await request(service.url, anna.token, "POST", "/ai/chat", tooMany)).toMatchObject({
      status: 413,
      json: { error: { message: "The message has 5 attachments; 4 are allowed" } },
    });
  });

  test("is rejected above the user's daily count or total size", async () => {
    const carla = await service.login(["ai.use"]);
    const big = Buffer.from(`a\n${"b".repeat(39_000)}`);
    const first = await upload(carla.token, "1.csv", big);
    // The limit holds for concurrent uploads too.
    const sent = await Promise.all([2, 3, 4].map((n) => upload(carla.token, `${n}.csv`, big)));
    expect(sent.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
    expect(sent.find(({ status }) => status === 409)?.json.error.message).toMatch(
      /^Your files for the assistant take \d+ bytes, and with this one would take more than the 100000/,
    );
    expect((await request(service.url, carla.token, "DELETE", first.json.url)).status).toBe(204);
    expect((await upload(carla.token, "5.csv", big)).status).toBe(201);
    await service.database.pool.query("update ai_usage set attachments = 11 where user_id = $1", [
      carla.userId,
    ]);
    expect((await upload(carla.token, "6.png", png)).status).toBe(201);
    const late = await upload(carla.token, "7.png", png);
    expect([late.status, late.json.error.code]).toEqual([429, "RATE_LIMITED"]);
    expect(late.json.error.message).toContain("12 files today");
    expect(Number(late.headers.get("retry-after"))).toBeGreaterThan(0);
    // A file inside a message counts too.
    const url = `data:image/png;base64,${png.toString("base64")}`;
    const body = {
      id: randomUUID(),
      messages: [{ id: "m", role: "user", parts: [{ type: "file", url }] }],
    };
    expect((await request(service.url, carla.token, "POST", "/ai/chat", body)).status).toBe(429);
  });

  test("is accepted from an unscoped API token and rejected from a scoped one", async () => {
    const dora = await service.login(["ai.use"]);
    const { token } = await insertApiToken(service.database, dora.userId);
    const scoped = await insertApiToken(service.database, dora.userId, ["ai.use"]);
    expect((await upload(scoped.token, "a.png", png)).status).toBe(403);
    const { status, json } = await upload(token, "a.png", png);
    expect(status).toBe(201);
    expect((await request(service.url, dora.token, "GET", json.url)).status).toBe(200);
    expect((await request(service.url, scoped.token, "GET", json.url)).status).toBe(403);
    expect((await request(service.url, token, "DELETE", json.url)).status).toBe(204);
  });

  test("is visible to its owner only, and deleted with its conversation", async () => {
    const { json } = await upload(anna.token, "a.png", png);
    for (const method of ["GET", "DELETE"])
      expect((await request(service.url, bert.token, method, json.url)).status).toBe(404);
    const stolen = openChat(service.url, { token: bert.token, id: randomUUID() });
    const file = { type: "file" as const, url: json.url, mediaType: "image/png" };
    await stolen.sendMessage({ text: "Show me", files: [file] });
    expect(stolen.error?.message).toContain("There is no attachment of yours");

    const chat = openChat(service.url, { token: anna.token, id: randomUUID() });
    model.say("Nice.");
    await chat.sendMessage({ text: "Look", files: [file] });
    const key = `backoffice/assistant/${anna.userId}/${json.id}`;
    expect((await files.content()).files).toContain(key);
    await request(service.url, anna.token, "DELETE", `/ai/conversations/${chat.id}`);
    // An attachment that was never sent with a message is deleted after a day.
    const unused = await upload(anna.token, "b.png", png);
    await service.database.pool.query(
      "update ai_attachments set created_at = now() - interval '2 days' where id = $1",
      [unused.json.id],
    );
    await service.database.pool.query("select enqueue_job('clean_assistant', '{}', 'now')");
    await startWorkerProcess(service.database.url, files.env());
    await waitFor("the files to be deleted", async () => {
      const { files: left } = await files.content();
      return !left.some((at) => at === key || at.endsWith(unused.json.id));
    });
    expect((await request(service.url, anna.token, "GET", json.url)).status).toBe(404);
  });
});
