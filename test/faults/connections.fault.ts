import { type Socket, createConnection } from "node:net";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { type ServerProcess, startServerProcess } from "../helpers/service.ts";

// Clients that send slowly, nothing or endlessly: each connection ends in bounded time while others are served.
jest.setTimeout(240_000);

let server: ServerProcess;
let token: string;

beforeAll(async () => {
  server = await startServerProcess();
  ({ token } = await server.login(["ai.use", "exporttemplates.update", "products.read"]));
});
afterAll(async () => {
  await server.stop();
});

const memoryMb = () => {
  const status = readFileSync(`/proc/${String(server.process.pid)}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
};
const connect = () => {
  const socket = createConnection(Number(new URL(server.url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  return socket;
};
const head = (line: string, headers = "") => `${line} HTTP/1.1\r\nHost: x\r\n${headers}`;
const json = "Content-Type: application/json\r\n";
const bearer = () => `Authorization: Bearer ${token}\r\n`;
const upload = (path: string) =>
  `${head(`POST ${path}`, bearer())}Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n`;

/** What a client sends at first and then each second, and the longest allowed duration in seconds. */
type Manner = [name: string, first: () => string, drip: string, longest: number];
const headS = 15 + 5 + 2;
const wholeS = 60 + 5 + 2;
const idleS = 65 + 5 + 2;
const manners: Manner[] = [
  ["sends nothing", () => "", "", headS],
  ["stops in the head", () => head("POST /graphql"), "", headS],
  ["sends a head without end", () => head("POST /graphql"), "X-A: b\r\n", headS],
  ["sends no body", () => head("POST /graphql", `${json}Content-Length: 100\r\n\r\n`), "", wholeS],
  [
    "sends a body slowly",
    () => head("POST /graphql", `${json}Content-Length: 100000\r\n\r\n{`),
    " ",
    wholeS,
  ],
  [
    "sends chunks without end",
    () => head("POST /graphql", `${json}Transfer-Encoding: chunked\r\n\r\n`),
    "1\r\n \r\n",
    wholeS,
  ],
  [
    "sends an extension of a chunk without end",
    () => head("POST /graphql", `${json}Transfer-Encoding: chunked\r\n\r\n1;a=`),
    "b",
    wholeS,
  ],
  [
    "sends trailers without end",
    () => head("POST /graphql", `${json}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n`),
    "X-T: a\r\n",
    wholeS,
  ],
  [
    "uploads a workbook slowly",
    () => upload("/exports/workbooks?kind=TABLE&name=A.xlsx"),
    "x",
    wholeS,
  ],
  ["uploads an attachment slowly", () => upload("/ai/attachments?name=a.txt"), "x", wholeS],
  [
    "sends a body where none is read",
    () => head("GET /healthz", "Content-Length: 1000000\r\n\r\n"),
    "x",
    wholeS,
  ],
  ["asks once and stays", () => head("GET /healthz", "\r\n"), "", idleS],
];

test("closes 500 slow connections in time while other requests are answered", async () => {
  const began = performance.now();
  const late: string[] = [];
  const all: { socket: Socket; over: Promise<unknown> }[] = [];
  for (let turn = 0; turn < 504; turn++) {
    const [name, first, drip, longest] = manners[turn % manners.length]!;
    const socket = connect();
    socket.resume();
    if (first() !== "") socket.write(first());
    const dripping = drip === "" ? undefined : setInterval(() => socket.write(drip), 1_000);
    const over = new Promise<void>((resolve) => {
      socket.once("close", () => {
        clearInterval(dripping);
        const seconds = (performance.now() - began) / 1_000;
        if (seconds > longest) late.push(`${name}: ${seconds.toFixed(1)} s`);
        resolve();
      });
    });
    all.push({ socket, over });
    // The same number in one tick of the event loop would exceed the queue.
    if (turn % 12 === 0) await delay(5);
  }
  const waits: number[] = [];
  let isOver = false;
  const others = (async () => {
    while (!isOver) {
      const asked = performance.now();
      const answer = await server.ask("{ products(first: 5) { nodes { id } } }", { token });
      expect(answer.status).toBe(200);
      waits.push(performance.now() - asked);
      await delay(50);
    }
  })();
  await Promise.race([Promise.all(all.map(({ over }) => over)), delay(idleS * 1_000 + 5_000)]);
  isOver = true;
  await others;
  const open = all.filter(({ socket }) => !socket.closed);
  for (const { socket } of open) socket.destroy();
  expect([open.length, late]).toEqual([0, []]);
  const sorted = waits.toSorted((one, other) => one - other);
  expect(sorted[Math.floor(sorted.length * 0.99)]).toBeLessThan(500);
});

test("aborted uploads leak no memory", async () => {
  const breakOff = async (start: string) => {
    const socket = connect();
    socket.write(start);
    await new Promise<void>((resolve) => {
      socket.once("close", () => resolve());
      socket.write(Buffer.alloc(200_000, 32), () => socket.destroy());
    });
  };
  const round = async () => {
    for (let turn = 0; turn < 200; turn++) {
      await breakOff(head("POST /graphql", `${json}Content-Length: 1000000\r\n\r\n`));
      await breakOff(upload("/exports/workbooks?kind=TABLE&name=A.xlsx"));
      await breakOff(upload("/ai/attachments?name=a.txt"));
    }
    return memoryMb();
  };
  // The first rounds let the runtime allocate memory that it keeps.
  for (let turn = 0; turn < 8; turn++) await round();
  const before = await round();
  let after = before;
  for (let turn = 0; turn < 3; turn++) after = await round();
  expect(after).toBeLessThan(before * 1.15);
});
