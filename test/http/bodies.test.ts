import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type RawRequest, send } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";

const limit = 100_000;
const query = "{ __typename }";
const plain = JSON.stringify({ query });
const padded = (bytes: number) => plain + " ".repeat(bytes - plain.length);
const json = { "content-type": "application/json" };

let service: Service;

beforeAll(async () => {
  service = await startService({ constants: { limits: { bodyBytes: limit } } });
});
afterAll(async () => {
  await service.stop();
});

const post = (body: RawRequest["body"], headers = {}) =>
  send(service.url, { body: body ?? "", headers: { ...json, ...headers } });

describe("an invalid body of a GraphQL request", () => {
  const refused: [string, string | Uint8Array, number, RegExp, string[]?][] = [
    ["empty", "", 400, /body is empty/],
    ["blank", "  ", 400, /not valid JSON/],
    ["null", "null", 400, /must be one JSON object/],
    ["a number", "7", 400, /must be one JSON object/],
    ["a text", `"{ me { id } }"`, 400, /must be one JSON object/],
    ["cut JSON", plain.slice(0, -1), 400, /not valid JSON/],
    ["JSON with more behind it", `${plain}x`, 400, /not valid JSON/],
    ["a batch", `[${plain}]`, 400, /batches are not accepted/],
    ["an empty batch", "[]", 400, /batches are not accepted/],
    [
      "invalid UTF-8",
      Buffer.from([...Buffer.from(`{"query":"{ me }","x":"`), 0xc3, 0x28, 0x22, 0x7d]),
      400,
      /UTF-8/,
    ],
    ["UTF-16", Buffer.from(plain, "utf16le"), 400, /not valid JSON/],
    ["an object without a query", "{}", 400, /^query must be/, ["query"]],
    ["a query that is null", `{"query":null}`, 400, /^query must be/, ["query"]],
    ["a query that is a number", `{"query":1}`, 400, /^query must be/, ["query"]],
    ["a query that is a list", `{"query":["{ me { id } }"]}`, 400, /^query must be/, ["query"]],
    ["a blank query", `{"query":" \\n"}`, 400, /^query must be/, ["query"]],
    [
      "variables as a text",
      `{"query":"{ __typename }","variables":"{}"}`,
      400,
      /^variables must be/,
      ["variables"],
    ],
    [
      "variables as a list",
      `{"query":"{ __typename }","variables":[]}`,
      400,
      /^variables must be/,
      ["variables"],
    ],
    [
      "a number as operationName",
      `{"query":"{ __typename }","operationName":1}`,
      400,
      /^operationName must be/,
      ["operationName"],
    ],
    [
      "a persisted document's id",
      `{"id":"abc","documentId":"abc"}`,
      400,
      /^documentId must be sha256:/,
      ["documentId"],
    ],
    [
      "extensions as a text",
      `{"query":"{ __typename }","extensions":"{}"}`,
      400,
      /^extensions must be an object/,
      ["extensions"],
    ],
    [
      "extensions as a list",
      `{"query":"{ __typename }","extensions":[]}`,
      400,
      /^extensions must be an object/,
      ["extensions"],
    ],
    ["a query with NUL", `{"query":"{ __typename \\u0000 }"}`, 400, /^query holds/, ["query"]],
    [
      "50,000 nested lists",
      `{"query":"{ __typename }","variables":{"a":${"[".repeat(49_000)}${"]".repeat(49_000)}}}`,
      400,
      /nested too deeply/,
    ],
    ["more than is allowed", padded(limit + 1), 413, /larger than allowed/],
  ];
  test.each(refused.map((row) => ({ name: row[0], row })))(
    "is refused with its reason: $name",
    async ({ row }) => {
      const [, body, status, message, path] = row;
      const answer = await post(body);
      expect(answer.status).toBe(status);
      expect(answer.json.errors).toHaveLength(1);
      expect(answer.json.errors[0]).toMatchObject({
        message: expect.stringMatching(message),
        extensions: {
          code: "BAD_USER_INPUT",
          correlationId: answer.headers["x-correlation-id"],
          ...(path && { path }),
        },
      });
      expect(answer.json.error).toMatchObject({
        code: "BAD_USER_INPUT",
        message: answer.json.errors[0].message,
      });
      expect(answer.text).not.toMatch(/node_modules|\bat \/|\.ts:/);
    },
  );

  test("of exactly the allowed size is accepted", async () => {
    const answer = await post(padded(limit));
    expect(answer).toMatchObject({ status: 200, json: { data: { __typename: "Query" } } });
  });

  test("is limited by its inflated size", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, 0x20), { level: 9 });
    expect(bomb.length).toBeLessThan(limit);
    const refused = await post(bomb, { "content-encoding": "gzip" });
    expect(refused).toMatchObject({
      status: 413,
      json: { errors: [{ extensions: { code: "BAD_USER_INPUT" } }] },
    });
    const brotli = await post(brotliCompressSync(padded(limit + 1)), { "content-encoding": "br" });
    expect(brotli.status).toBe(413);
    const small = await post(gzipSync(plain), { "content-encoding": "gzip" });
    expect(small).toMatchObject({ status: 200, json: { data: { __typename: "Query" } } });
    const unknown = await post(plain, { "content-encoding": "compress" });
    expect(unknown).toMatchObject({
      status: 415,
      json: {
        errors: [
          {
            message: "The body's Content-Encoding is not supported here",
            extensions: { code: "BAD_USER_INPUT" },
          },
        ],
      },
    });
    const broken = await post(gzipSync(plain).subarray(0, 20), { "content-encoding": "gzip" });
    expect(broken).toMatchObject({
      status: 400,
      json: { errors: [{ extensions: { code: "BAD_USER_INPUT" } }] },
    });
  });

  test.each([
    "text/plain",
    "application/graphql",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=iso-8859-1",
    'application/json; charset="utf-16"',
    "",
  ])("is rejected with Content-Type %p", async (type) => {
    const answer = await send(service.url, {
      headers: type ? [["content-type", type]] : [],
      body: plain,
    });
    expect(answer).toMatchObject({
      status: 415,
      json: { errors: [{ extensions: { code: "BAD_USER_INPUT" } }] },
    });
  });

  test.each([
    "application/json;charset=UTF-8",
    'Application/JSON; charset="utf-8"',
    "application/json; charset=utf8",
  ])("is accepted with Content-Type %p", async (type) => {
    expect((await post(plain, { "content-type": type })).json).toMatchObject({
      data: { __typename: "Query" },
    });
  });

  test("is rejected before it is read when its headers are sufficient", async () => {
    const answer = await send(service.url, {
      headers: [
        ["content-type", "application/json"],
        ["content-length", "999999999"],
        ["expect", "100-continue"],
      ],
    }).catch((error: unknown) => error);
    expect(answer).toMatchObject({ status: 413 });
  });
});
