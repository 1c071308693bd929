import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { openChat } from "../helpers/assistant/client.ts";
import { type ServerProcess, startServerProcess } from "../helpers/service.ts";

// No streamed answer of a language model may cost more than linear time or unbounded memory: each kind is sent in four
// sizes, each twice the previous one.
jest.setTimeout(300_000);

let server: Server;
let service: ServerProcess;
let token: string;
/** Sends the next answers of the model. */
let write: (response: ServerResponse) => Promise<void>;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      write(response).then(
        () => response.end(),
        () => response.destroy(),
      );
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  service = await startServerProcess({
    env: {
      AI_PROVIDER: "openai-compatible",
      AI_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      AI_API_KEY: "key",
      AI_MODEL: "some-model",
      AI_REQUESTS_PER_MINUTE: "10000",
      AI_DAILY_COST: "1000000",
    },
  });
  ({ token } = await service.login(["ai.use", "products.read"]));
});
afterAll(async () => {
  await service.stop();
  server.closeAllConnections();
  server.close();
});

const base = { id: "c1", object: "chat.completion.chunk", created: 1, model: "some-model" };
const frame = (value: object) => `data: ${JSON.stringify({ ...base, ...value })}\n\n`;
const choice = (delta: object, finish: string | null = null) =>
  frame({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] });
const says = (content: string) => choice({ content });
const calls = (delta: object, index = 0) => choice({ tool_calls: [{ index, ...delta }] });
const beginsCall = (index = 0) =>
  calls(
    { id: `c${index}`, type: "function", function: { name: "searchProducts", arguments: "" } },
    index,
  );
const end = (reason: string) => `${choice({}, reason)}data: [DONE]\n\n`;

/** Writes as fast as the service reads. */
async function put(response: ServerResponse, text: string | Buffer): Promise<void> {
  if (response.destroyed) throw new Error("closed");
  if (response.write(text)) return;
  const closed = new AbortController();
  try {
    await Promise.race([
      once(response, "drain", { signal: closed.signal }),
      once(response, "close", { signal: closed.signal }),
    ]);
  } finally {
    closed.abort();
  }
}

async function repeat(
  response: ServerResponse,
  times: number,
  text: (index: number) => string | Buffer,
): Promise<void> {
  for (let index = 0; index < times; index++) await put(response, text(index));
}

type Send = (response: ServerResponse, size: number) => Promise<void>;
const mebibyte = Buffer.alloc(1024 * 1024, "a");

/** Kinds of answers: the largest of the four sizes, and what sends an answer of a size. */
const answers: Record<string, [largest: number, send: Send]> = {
  "characters of a frame": [800_000, (to, n) => put(to, `${says("a".repeat(n))}${end("stop")}`)],
  "frames of one character": [
    40_000,
    async (to, n) => {
      await repeat(to, n, () => says("a"));
      await put(to, end("stop"));
    },
  ],
  "bytes of which each arrives alone": [
    20_000,
    async (to, n) => {
      await repeat(to, n, (index) => (index === 0 ? 'data: {"a":"' : "a"));
      await put(to, `"}\n\n${end("stop")}`);
    },
  ],
  "mebibytes without the end of a line": [
    512,
    async (to, n) => {
      await put(to, "data: ");
      await repeat(to, n, () => mebibyte);
      await put(to, `\n\n${end("stop")}`);
    },
  ],
  "mebibytes of lines that end no frame": [
    256,
    (to, n) => repeat(to, n * 16, () => `data: ${"a".repeat(65_000)}\n`),
  ],
  "lines without data": [400_000, (to, n) => repeat(to, n / 100, () => "data:\n".repeat(100))],
  comments: [
    400_000,
    async (to, n) => {
      await repeat(to, n / 100, () => ":\n\n".repeat(100));
      await put(to, `${says("a")}${end("stop")}`);
    },
  ],
  "carriage returns": [
    200_000,
    async (to, n) => {
      await repeat(to, n / 100, () => "\r".repeat(100));
      await put(to, `${says("a")}${end("stop")}`);
    },
  ],
  "nested values of a frame": [
    100_000,
    (to, n) => put(to, `data: ${"[".repeat(n)}${"]".repeat(n)}\n\n${end("stop")}`),
  ],
  "pieces of a tool call's arguments": [
    20_000,
    async (to, n) => {
      await put(to, `${beginsCall()}${calls({ function: { arguments: '{"query":"' } })}`);
      await repeat(to, n, () => calls({ function: { arguments: "a" } }));
      await put(to, `${calls({ function: { arguments: '"}' } })}${end("tool_calls")}`);
    },
  ],
  "tool calls": [
    4_000,
    async (to, n) => {
      await repeat(to, n, (index) => beginsCall(index));
      await put(to, end("tool_calls"));
    },
  ],
};

/** The server's CPU time so far, in milliseconds, and its memory in megabytes. */
async function usage(): Promise<{ ms: number; megabytes: number }> {
  const stat = await readFile(`/proc/${service.process.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const status = await readFile(`/proc/${service.process.pid}/status`, "utf8");
  const resident = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
  return { ms: (Number(fields[11]) + Number(fields[12])) * 10, megabytes: resident / 1024 };
}

/** Asks a question whose first answer is the given one; an answer after a tool call ends the conversation. */
async function costOf(send: Send, size: number): Promise<number> {
  let isFirst = true;
  write = async (response) => {
    if (!isFirst) return put(response, `${says("Done.")}${end("stop")}`);
    isFirst = false;
    await send(response, size);
  };
  const before = (await usage()).ms;
  const chat = openChat(service.url, { token, id: randomUUID() });
  await chat.sendMessage({ text: "What do we have?" });
  return (await usage()).ms - before;
}

/** Smaller values are noise: an answer without content costs about this. */
const noiseMs = 150;
/** The limit for the largest answer. */
const boundMs = 5_000;
/** The heap of a server is bounded by its settings; an answer must not fill it. */
const boundMegabytes = 900;

test.each(Object.entries(answers))(
  "the cost of an answer with %s is linear in their number",
  async (_name, [largest, send]) => {
    await costOf((to) => put(to, `${says("a")}${end("stop")}`), 0);
    const costs: number[] = [];
    for (const size of [largest / 8, largest / 4, largest / 2, largest])
      costs.push(await costOf(send, Math.floor(size)));
    const [first = 0, , , last = 0] = costs;
    const { megabytes } = await usage();
    expect({
      costs,
      isLinear: last <= 8 * 2 * Math.max(first, noiseMs),
      isBounded: last <= boundMs,
      isSmall: megabytes <= boundMegabytes,
    }).toEqual({ costs, isLinear: true, isBounded: true, isSmall: true });
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  },
);
