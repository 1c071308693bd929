import { createConnection } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { waitFor, waitForOutput } from "../helpers/waitFor.ts";
import { send, timed } from "../helpers/http.ts";
import { locked, waitForWaiter } from "../helpers/locked.ts";
import { type ServerProcess, startServerProcess } from "../helpers/service.ts";

let service: ServerProcess;
let token: string;

async function start(env: Record<string, string> = {}) {
  service = await startServerProcess({
    env: { SHUTDOWN_TIMEOUT_SECONDS: "3", DATABASE_STATEMENT_TIMEOUT_MS: "20000", ...env },
  });
  ({ token } = await service.login(["campaigns.read", "campaigns.delete"]));
}
afterEach(async () => {
  await service.stop();
});

/** Starts a request that waits for a lock; `work` releases the lock. */
async function withSlowRequest(
  work: (release: () => Promise<void>, answer: ReturnType<ServerProcess["ask"]>) => Promise<void>,
) {
  const { pool } = service.database;
  await locked(pool, "campaigns", async (release) => {
    const answer = service.ask("mutation { deleteAllCampaigns }", { token });
    // Prevents an unhandled rejection when the caller ignores the result.
    answer.catch(() => undefined);
    await waitForWaiter(pool);
    await work(release, answer);
  });
}

const exited = () => new Promise<number | null>((resolve) => service.process.once("exit", resolve));
// Errors of Node.js belong to another realm than the test's `Error`.
const causeOf = (error: unknown) => String((error as { cause?: unknown }).cause ?? error);
const refuses = () =>
  service.ask("{ __typename }").then(
    () => false,
    (error: unknown) => causeOf(error).includes("ECONNREFUSED"),
  );

test("successful health checks are not logged", async () => {
  await start();
  const ask = async (path: string) => (await send(service.url, { method: "GET", path })).status;
  expect([await ask("/readyz"), await ask("/healthz"), await ask("/nothing")]).toEqual([
    200, 200, 404,
  ]);
  await waitForOutput(service, "/nothing");
  expect(service.output()).not.toMatch(/"path":"\/(?:readyz|healthz)"/);
});

test("a stopping server finishes requests in progress and exits with 0", async () => {
  await start({ SHUTDOWN_TIMEOUT_SECONDS: "19" });
  await withSlowRequest(async (release, answer) => {
    const exit = exited();
    service.process.kill("SIGTERM");
    await waitFor("new connections to be refused", refuses);
    expect(service.process.exitCode).toBeNull();
    const { ms } = await timed(async () => {
      await release();
      expect(await answer).toMatchObject({ status: 200, data: { deleteAllCampaigns: 0 } });
      expect(await exit).toBe(0);
    });
    expect(ms).toBeLessThan(15_000);
    await waitForOutput(service, '"reason":"SIGTERM"');
    await waitForOutput(service, '"stopped"');
    expect(service.output()).not.toContain('"level":"error"');
  });
});

test("connections without any request do not delay the stop", async () => {
  await start({ SHUTDOWN_TIMEOUT_SECONDS: "40" });
  const { hostname, port } = new URL(service.url);
  const sockets = Array.from({ length: 20 }, () => createConnection(Number(port), hostname));
  const ends = sockets.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  for (const socket of sockets) socket.on("error", () => undefined);
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve))),
  );
  const exit = exited();
  const { ms } = await timed(async () => {
    service.process.kill("SIGTERM");
    expect(await exit).toBe(0);
  });
  await Promise.all(ends);
  expect(ms).toBeLessThan(30_000);
});

test("idle connections and incomplete requests do not delay the stop", async () => {
  await start();
  const { hostname, port } = new URL(service.url);
  const sockets = [
    "",
    "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Ty",
    "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{",
  ].map((text) => {
    const socket = createConnection(Number(port), hostname, () => socket.write(text));
    socket.on("error", () => undefined);
    return socket;
  });
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve))),
  );
  await service.ask("{ __typename }");
  const exit = exited();
  const { ms } = await timed(async () => {
    service.process.kill("SIGTERM");
    expect(await exit).toBe(0);
  });
  // The request without a body may last until the time limit of requests.
  expect(ms).toBeLessThan(18_000);
  for (const socket of sockets) socket.destroy();
});

test("a request beyond the time limit is cut off, and the server exits", async () => {
  await start();
  await withSlowRequest(async (_release, answer) => {
    const exit = exited();
    const { ms } = await timed(async () => {
      service.process.kill("SIGTERM");
      await expect(answer).rejects.toThrow();
      expect([0, 1]).toContain(await exit);
    });
    expect(ms).toBeGreaterThan(2_500);
    expect(ms).toBeLessThan(18_000);
  });
});

test("a stop under load loses no accepted request", async () => {
  await start();
  const outcomes: string[] = [];
  const exit = exited();
  const ask = async () => {
    while (service.process.exitCode === null) {
      const outcome = await service
        .ask("{ me { id } }", { token })
        .then(
          (answer) =>
            answer.status === 200 && answer.data.me ? "answered" : `status ${answer.status}`,
          causeOf,
        );
      outcomes.push(outcome);
      if (outcome !== "answered") return;
    }
  };
  const clients = Array.from({ length: 8 }, ask);
  await waitFor("some answers", () => outcomes.length > 40);
  service.process.kill("SIGTERM");
  expect(await exit).toBe(0);
  await Promise.all(clients);
  // Late clients are refused or get a closing connection.
  expect(
    outcomes.filter(
      (text) => text !== "answered" && !/ECONNREFUSED|other side closed|ECONNRESET/.test(text),
    ),
  ).toEqual([]);
  expect(service.output().match(/"aborted":true/g) ?? []).toEqual([]);
});

test("during the shutdown delay requests are answered, each the last on its connection", async () => {
  await start({ SHUTDOWN_DELAY_MS: "4000", SHUTDOWN_TIMEOUT_SECONDS: "15" });
  const outcomes: string[] = [];
  let isStopping = false;
  let toldToLeave = 0;
  const authorization = `Bearer ${token}`;
  const body = JSON.stringify({ query: "{ me { id } }" });
  // Over new connections and over a persistent one.
  const requestOnNewConnection = async () => {
    const { status, headers } = await send(service.url, { headers: { authorization }, body });
    return { status, connection: headers["connection"] };
  };
  const requestOnKeptConnection = async () => {
    const { status, headers } = await service.ask("{ me { id } }", { token });
    return { status, connection: headers.get("connection") };
  };
  const client = async (ask: typeof requestOnNewConnection | typeof requestOnKeptConnection) => {
    while (!isStopping) {
      const began = outcomes.length;
      await ask().then(
        ({ status, connection }) => {
          if (connection === "close" && ask === requestOnKeptConnection) toldToLeave++;
          outcomes.push(String(status));
        },
        (error: unknown) => outcomes.push(`${began}: ${causeOf(error)}`),
      );
    }
  };
  const clients = [
    requestOnNewConnection,
    requestOnNewConnection,
    requestOnNewConnection,
    requestOnNewConnection,
    requestOnKeptConnection,
    requestOnKeptConnection,
  ].map(client);
  await waitFor("some answers", () => outcomes.length > 40);
  const exit = exited();
  const stopped = performance.now();
  service.process.kill("SIGTERM");
  const unready = await waitFor("it to be unready", async () => {
    const answer = await send(service.url, { method: "GET", path: "/readyz" });
    return answer.status !== 200 && answer;
  });
  expect(unready).toMatchObject({ status: 503, json: { status: "not ready", stopping: true } });
  expect(performance.now() - stopped).toBeLessThan(3_900);
  // Like the periodic health check of a load balancer.
  await delay(300);
  isStopping = true;
  await Promise.all(clients);
  expect(new Set(outcomes)).toEqual(new Set(["200"]));
  expect(toldToLeave).toBeGreaterThan(0);
  expect(await exit).toBe(0);
  expect(performance.now() - stopped).toBeGreaterThan(1_400);
});
