import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeWorkflowClient } from "../../src/gateways/workflowClient.ts";
import { createLog } from "../../src/process/log.ts";

type Verify = (secret: string, headers: IncomingHttpHeaders, body: string) => unknown;

const secret = `whsec_${"k".repeat(42)}8=`;
const other = `whsec_${"n".repeat(42)}8=`;
let page: string;
let folder: string;
let verify: Verify;
let call: { headers: IncomingHttpHeaders; body: string };

beforeAll(async () => {
  page = await readFile(join(import.meta.dirname, "../../docs/product-sync.md"), "utf8");
  folder = await mkdtemp(join(tmpdir(), "office-sample-"));
  const file = join(folder, "verify.mjs");
  await writeFile(file, /```js\n(.*?)```/s.exec(page)?.[1] ?? "");
  ({ verify } = (await import(pathToFileURL(file).href)) as { verify: Verify });
  call = await callOnce([other, secret]);
});
afterAll(() => rm(folder, { recursive: true }));

/** Records a call as the workflow receives it. */
async function callOnce(secrets: string[]) {
  const received = Promise.withResolvers<typeof call>();
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (text: string) => (body += text));
    request.on("end", () => {
      received.resolve({ headers: request.headers, body });
      response.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const gateway = makeWorkflowClient({ url, secrets, timeoutMs: 10_000 });
  await gateway.start(
    {
      runId: "0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a",
      erpProductNumbers: ["0001", "Ærø-2"],
      testRunId: null,
      requestedBy: { userId: "0198f2c4-0000-7000-8000-000000000001", apiTokenId: null },
      requestedAt: new Date("2026-01-31T12:34:56.789Z"),
      correlationId: "4f5a0c52-8d0e-4c7e-9d0a-1d6c2f7f5b11",
    },
    { signal: new AbortController().signal, log: createLog("silent") },
  );
  server.close();
  server.closeAllConnections();
  return received.promise;
}

/** Compares keys at all levels. */
const shape = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]))
    : typeof value;

describe("the documented sample that verifies a signature", () => {
  test("accepts a call signed with either of two secrets", () => {
    for (const known of [secret, other])
      expect(verify(known, call.headers, call.body)).toMatchObject({
        type: "product_sync.requested",
        data: { erpProductNumbers: ["0001", "Ærø-2"] },
      });
  });

  test("rejects another secret, body or id, an old timestamp, and a missing signature", () => {
    const third = `whsec_${"x".repeat(42)}8=`;
    expect(verify(third, call.headers, call.body)).toBeNull();
    expect(verify(secret, call.headers, call.body.replace("0001", "0002"))).toBeNull();
    expect(verify(secret, { ...call.headers, "webhook-id": "1" }, call.body)).toBeNull();
    const old = String(Math.floor(Date.now() / 1000) - 301);
    expect(verify(secret, { ...call.headers, "webhook-timestamp": old }, call.body)).toBeNull();
    expect(verify(secret, {}, call.body)).toBeNull();
  });
});

test("the documented body and headers match the ones that are sent", () => {
  const documented: unknown = JSON.parse(/```json\n(.*?)```/s.exec(page)?.[1] ?? "null");
  expect(shape(JSON.parse(call.body))).toEqual(shape(documented));
  const headers = /```http\n(.*?)```/s.exec(page)?.[1]?.trim().split("\n") ?? [];
  expect(headers).toHaveLength(4);
  for (const line of headers) expect(call.headers).toHaveProperty([line.split(":")[0] ?? ""]);
});
