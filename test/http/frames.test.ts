import { createConnection } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
});

/** The statuses of all responses to these bytes, until the server closes or `wanted` responses have arrived. */
function statusesOf(bytes: string, wanted = 1): Promise<number[]> {
  const { promise, resolve } = Promise.withResolvers<number[]>();
  const socket = createConnection(Number(new URL(service.url).port), "127.0.0.1");
  let text = "";
  const statuses = () =>
    [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    if (statuses().filter((status) => status !== 100).length >= wanted) socket.destroy();
  });
  socket.once("error", () => undefined);
  socket.once("close", () => resolve(statuses()));
  socket.write(bytes, "latin1");
  return promise;
}

const body = JSON.stringify({ query: "{ __typename }" });
const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const post = (headers: string, content: string) =>
  `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${content}`;
const get = (headers: string) => `GET /healthz HTTP/1.1\r\n${headers}\r\n`;

describe("an ambiguous or malformed HTTP message", () => {
  test.each<[string, string, number]>([
    [
      "a length beside chunks",
      post(`Content-Length: ${body.length}\r\nTransfer-Encoding: chunked`, chunked),
      400,
    ],
    ["two lengths", post(`Content-Length: ${body.length}\r\nContent-Length: 5`, body), 400],
    ["a list of lengths", post(`Content-Length: ${body.length}, ${body.length}`, body), 400],
    ["a length with a sign", post(`Content-Length: +${body.length}`, body), 400],
    ["a negative length", post("Content-Length: -1", body), 400],
    ["a hexadecimal length", post("Content-Length: 0x1e", body), 400],
    ["a length of twenty digits", post("Content-Length: 99999999999999999999", body), 400],
    ["an unknown transfer encoding", post("Transfer-Encoding: xchunked", chunked), 400],
    [
      "chunks that are not the last encoding",
      post("Transfer-Encoding: chunked, identity", ""),
      400,
    ],
    ["a space before the colon", post("Transfer-Encoding : chunked", chunked), 400],
    ["a chunk of 16^17 bytes", post("Transfer-Encoding: chunked", "FFFFFFFFFFFFFFFFF\r\n"), 400],
    ["a chunk of negative length", post("Transfer-Encoding: chunked", "-1\r\n"), 400],
    ["line feeds alone", post(`Content-Length: ${body.length}`, body).replaceAll("\r", ""), 400],
    ["a folded header", get("Host: x\r\nX-A: b\r\n c\r\n"), 400],
    ["a NUL in a header", get("Host: x\r\nX-A: b\0c\r\n"), 400],
    ["no host", get(""), 400],
    ["another version", "GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n", 400],
    ["HTTP/2 without an upgrade", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["a TLS greeting", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
    ["2,100 headers", get(`Host: x\r\n${"a: b\r\n".repeat(2_100)}`.padEnd(20_000, "x")), 431],
    ["a header of 64 KB", get(`Host: x\r\nX-A: ${"b".repeat(65_536)}\r\n`), 431],
    ["an address of 40 kB", `GET /${"b".repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ["an unknown expectation", post("Expect: 200-maybe\r\nContent-Length: 5", ""), 417],
  ])("is rejected: %s", async (_what, bytes, status) => {
    expect(await statusesOf(bytes)).toEqual([status]);
  });

  // The connection closes before all bytes are read, so the client gets the response or a reset.
  test("with an address of 1 MB is rejected", async () => {
    const statuses = await statusesOf(`GET /${"b".repeat(1 << 20)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(statuses.filter((status) => status !== 431)).toEqual([]);
  });

  test("with Expect: 100-continue is rejected when the body is too large", async () => {
    const asked = post("Expect: 100-continue\r\nContent-Length: 999999999", "");
    expect((await statusesOf(asked)).at(-1)).toBe(413);
  });

  test("with CONNECT opens no tunnel", async () => {
    expect(await statusesOf("CONNECT inside:80 HTTP/1.1\r\nHost: inside:80\r\n\r\n")).toEqual([]);
  });
});

test("pipelined requests on one connection are answered in order, within the limit", async () => {
  const one = post(`Content-Length: ${body.length}`, body);
  const statuses = await statusesOf(one.repeat(3_000), 3_000);
  expect(statuses).toHaveLength(3_000);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
});
