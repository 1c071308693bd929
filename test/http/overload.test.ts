import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import express from "express";
import { Registry } from "prom-client";
import { errorHandler } from "../../src/errors/errorHandler.ts";
import { withAdmissionControl } from "../../src/http/withAdmissionControl.ts";
import { jsonBody } from "../../src/http/jsonBody.ts";
import { type AdmissionLimits, admissionControl } from "../../src/http/admissionControl.ts";
import { sendBlocks } from "../../src/http/sendBlocks.ts";
import { createLog } from "../../src/process/log.ts";
import { locked, waitForWaiter } from "../helpers/locked.ts";
import { send, timed } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { operationsUrl, readExposition, scrape, valueOf } from "../helpers/metrics/exposition.ts";

let service: Service;
let operations: string;
let token: string;

beforeAll(async () => {
  service = await startService({
    env: {
      METRICS_PORT: "0",
      MAX_CONCURRENT_REQUESTS: "2",
      MAX_QUEUED_REQUESTS: "3",
      DATABASE_STATEMENT_TIMEOUT_MS: "60000",
    },
  });
  await waitFor("the log", () => service.output().includes('"metrics"'));
  operations = operationsUrl(service.output());
  ({ token } = await service.login(["campaigns.read", "campaigns.delete", "users.read"]));
});
afterAll(() => service.stop());

const count = async (state: string) =>
  valueOf(await scrape(operations), "office_requests", { state });
/** A slot is freed when the response is written, shortly before or after the client receives it. */
const allOver = () =>
  waitFor(
    "all turns to end",
    async () => (await count("running")) === 0 && (await count("waiting")) === 0,
  );
const refused = async (reason: string) =>
  valueOf(await scrape(operations), "office_requests_refused_total", { reason });
const slow = () => service.ask("mutation { deleteAllCampaigns }", { token });
const quick = (id: string) =>
  service.ask("{ campaigns { id } users { id } }", { token, headers: { "x-correlation-id": id } });

test("a request beyond the full queue is rejected at once; queued ones run under their own correlation ids", async () => {
  const { pool } = service.database;
  const waiting: Promise<Awaited<ReturnType<typeof quick>>>[] = [];
  await locked(pool, "campaigns", async (release) => {
    const running = [slow(), slow()];
    await waitForWaiter(pool);
    await waitFor("two at work", async () => (await count("running")) === 2);
    for (const n of [1, 2, 3]) waiting.push(quick(`waiter-${n}`));
    await waitFor("three to wait", async () => (await count("waiting")) === 3);

    const before = await refused("full");
    const { ms, result } = await timed(() => quick("late"));
    expect(result).toMatchObject({
      status: 503,
      errors: [
        {
          message: "The server is busy: try again in a moment",
          extensions: { code: "UNAVAILABLE", correlationId: "late" },
        },
      ],
    });
    const headers = Object.fromEntries(result.headers);
    expect(headers).toMatchObject({
      ...{ "retry-after": "2", "x-correlation-id": "late", "cache-control": "no-store" },
      "x-content-type-options": "nosniff",
    });
    expect(ms).toBeLessThan(20_000);
    // Other routes are rejected too, except for health checks, the console and the operations port.
    const download = "/exports/00000000-0000-4000-8000-000000000000/download";
    expect((await send(service.url, { method: "GET", path: download })).status).toBe(503);
    for (const path of ["/healthz", "/readyz", "/admin", "/admin/products"])
      expect((await send(service.url, { method: "GET", path })).status).toBe(200);
    expect((await refused("full")) ?? 0).toBe((before ?? 0) + 2);

    await release();
    for (const answer of await Promise.all(running))
      expect(answer).toMatchObject({ status: 200, data: { deleteAllCampaigns: 0 } });
  });
  const answers = await Promise.all(waiting);
  for (const answer of answers)
    expect(answer).toMatchObject({ status: 200, data: { campaigns: [] } });
  expect(answers.map(({ headers }) => headers.get("x-correlation-id"))).toEqual([
    "waiter-1",
    "waiter-2",
    "waiter-3",
  ]);
  const { rows } = await pool.query<{ correlation_id: string }>(
    "select correlation_id from audit_log where correlation_id like 'waiter-%' order by correlation_id",
  );
  expect(rows.map((row) => row.correlation_id)).toEqual(["waiter-1", "waiter-2", "waiter-3"]);
  await allOver();
});

test("a queued request whose client disconnects takes no slot", async () => {
  const { pool } = service.database;
  await locked(pool, "campaigns", async (release) => {
    const running = [slow(), slow()];
    await waitFor("two at work", async () => (await count("running")) === 2);
    const gone = new AbortController();
    const left = fetch(`${service.url}/graphql`, {
      method: "POST",
      signal: gone.signal,
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
        "x-correlation-id": "gone",
      },
      body: JSON.stringify({ query: "{ campaigns { id } users { id } }" }),
    }).catch((error: unknown) => (error as Error).name);
    await waitFor("it to wait", async () => (await count("waiting")) === 1);
    gone.abort();
    expect(await left).toBe("AbortError");
    await waitFor("the server to notice", () => service.output().includes('"aborted":true'));
    await release();
    await Promise.all(running);
  });
  expect(await quick("next")).toMatchObject({ status: 200 });
  await allOver();
  const { rows } = await pool.query("select from audit_log where correlation_id = 'gone'");
  expect(rows).toEqual([]);
});

test("a running request whose client disconnects keeps its slot until its statement ends", async () => {
  const { pool } = service.database;
  await locked(pool, "campaigns", async (release) => {
    const gone = new AbortController();
    const left = fetch(`${service.url}/graphql`, {
      method: "POST",
      signal: gone.signal,
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: "mutation { deleteAllCampaigns }" }),
    }).catch((error: unknown) => (error as Error).name);
    await waitForWaiter(pool);
    const aborted = () => (service.output().match(/"aborted":true/g) ?? []).length;
    const before = aborted();
    gone.abort();
    expect(await left).toBe("AbortError");
    await waitFor("the server to notice", () => aborted() > before);
    const other = slow();
    await waitFor("two at work", async () => (await count("running")) === 2);
    const waits = quick("behind-one-who-left");
    await waitFor("one to wait", async () => (await count("waiting")) === 1);
    await release();
    expect(await other).toMatchObject({ status: 200 });
    expect(await waits).toMatchObject({ status: 200 });
  });
  await allOver();
});

const limits = { atOnce: 1, waiting: 1, waitMs: 3_000, readMs: 15_000, leftMs: 30_000 };

test("requests of one tick are admitted only up to the free slots and queue places", async () => {
  const { admit } = admissionControl(new Registry(), limits);
  const come = () => Array.from({ length: 4 }, () => admit(true)?.status);
  expect(come()).toEqual([undefined, undefined, 503, 503]);
  // A request that needs no slot is admitted.
  expect(admit(false)).toBeUndefined();
  await setImmediate();
  expect(come()).toEqual([undefined, undefined, 503, 503]);
});

/** Admission control before three routes: one holds its slot until released, one does not, one has a long response. */
async function stand(given: Partial<AdmissionLimits>) {
  const app = express();
  const registry = new Registry();
  const load = admissionControl(registry, { ...limits, ...given });
  let finish: (() => void) | undefined;
  app.use(...jsonBody(1_000), load.acquire);
  app.post("/hold", (_request, response) => {
    finish = () => response.end("held");
  });
  app.post("/quick", (_request, response) => response.end("done"));
  app.post("/long", (_request, response) => response.end(Buffer.alloc(50_000_000)));
  app.post("/blocks", (_request, response) => {
    void sendBlocks(response, Array<Buffer>(1_500).fill(Buffer.alloc(32_768)));
  });
  app.post("/never", () => undefined);
  app.use(errorHandler(createLog("silent"), new Map()));
  const server = createServer(withAdmissionControl(app, load, [])).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const ask = (path: string) => send(`http://127.0.0.1:${port}`, { path, body: "{}" });
  const held = ask("/hold");
  await waitFor("one to be worked on", () => finish !== undefined);
  const requests = async (state: string) =>
    valueOf(readExposition(await registry.metrics()), "office_requests", { state });
  return {
    port,
    ask,
    waiting: () => requests("waiting"),
    running: () => requests("running"),
    release: async () => {
      finish?.();
      expect((await held).text).toBe("held");
    },
    close: () => server.close(),
  };
}

test("a request that waits too long is rejected, and a slow sender takes no slot", async () => {
  const { port, ask, release, close } = await stand({ waitMs: 100 });
  const head =
    "POST /quick HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
  const sockets = Array.from({ length: 10 }, () => {
    const socket = createConnection(port, "127.0.0.1", () => socket.write(head));
    socket.on("error", () => undefined);
    return socket;
  });
  try {
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    const { ms, result } = await timed(() => ask("/quick"));
    expect(result).toMatchObject({ status: 503, headers: { "retry-after": "2" } });
    expect(ms).toBeGreaterThan(95);
    await release();
    expect((await ask("/quick")).text).toBe("done");
  } finally {
    for (const socket of sockets) socket.destroy();
    close();
  }
});

test("requests are rejected while the head of the queue has waited for half of the limit", async () => {
  const { ask, waiting, release, close } = await stand({ waiting: 9, waitMs: 8_000 });
  try {
    const first = ask("/quick");
    await waitFor("it to wait", async () => (await waiting()) === 1);
    const since = performance.now();
    await waitFor("half of the time", () => performance.now() - since > 4_000);
    expect((await ask("/quick")).status).toBe(503);
    await release();
    expect((await first).text).toBe("done");
  } finally {
    close();
  }
});

const post = (path: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;

test.each([
  ["at once", "/long"],
  ["in blocks", "/blocks"],
])(
  "a client that does not read its response, sent %s, is disconnected and frees its slot",
  async (_how, path) => {
    const { port, ask, release, close } = await stand({ readMs: 200, waitMs: 20_000 });
    await release();
    const socket = createConnection(port, "127.0.0.1", () => socket.write(post(path)));
    socket.on("error", () => undefined);
    try {
      await once(socket, "readable");
      expect((await ask("/quick")).text).toBe("done");
    } finally {
      socket.destroy();
      close();
    }
  },
);

test("endless work for a disconnected client frees its slot", async () => {
  const { port, ask, running, release, close } = await stand({ atOnce: 2, leftMs: 200 });
  const socket = createConnection(port, "127.0.0.1", () => socket.write(post("/never")));
  try {
    await waitFor("it to be worked on", async () => (await running()) === 2);
    socket.destroy();
    expect((await ask("/quick")).text).toBe("done");
    await release();
  } finally {
    close();
  }
});
