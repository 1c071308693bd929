import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { waitFor, waitForOutput } from "../helpers/waitFor.ts";
import { createDatabase, type TestDatabase } from "../helpers/database.ts";
import { send, timed } from "../helpers/http.ts";
import { locked, waitForWaiter } from "../helpers/locked.ts";
import { type Proxy, startProxy } from "../helpers/proxy.ts";
import { type ServerProcess, startService, startServerProcess } from "../helpers/service.ts";

let database: TestDatabase;
let proxy: Proxy;
let service: ServerProcess;
let token: string;

beforeAll(async () => {
  database = await createDatabase();
  proxy = await startProxy(database.url);
  service = await startServerProcess({
    database: { ...database, url: proxy.url },
  });
  ({ token } = await service.login(["users.read", "campaigns.read"]));
});
afterAll(async () => {
  await service.stop();
  await proxy.stop();
  await database.drop();
});
afterEach(async () => {
  await proxy.restore();
});

const users = () => service.ask("{ users { id } }", { token });

describe("a database that is down", () => {
  const expectUnavailable = (answer: Awaited<ReturnType<typeof users>>) => {
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(answer.errors?.[0]).toMatchObject({
      message: "The database cannot be reached: try again in a moment",
      extensions: { code: "UNAVAILABLE", correlationId: expect.any(String) },
    });
    expect(JSON.stringify(answer)).not.toMatch(/ECONN|127\.0\.0\.1|terminat|socket/);
  };

  test("makes the server unready and every response 503, until it is back", async () => {
    expect((await send(service.url, { method: "GET", path: "/readyz" })).status).toBe(200);
    await proxy.cut();
    const health = await send(service.url, { method: "GET", path: "/healthz" });
    expect(health).toMatchObject({ status: 200, json: { status: "ok" } });
    const ready = await send(service.url, { method: "GET", path: "/readyz" });
    expect(ready).toMatchObject({
      status: 503,
      json: { status: "not ready", database: "unreachable" },
    });
    for (let round = 0; round < 12; round++) expectUnavailable(await users());
    expectUnavailable(
      await service.ask(`mutation { bootstrapFirstUser(email: "a@example.com") { token } }`),
    );
    expectUnavailable(await service.ask(`mutation { devLogin(email: "a@example.com") { token } }`));
    // Requests without database access are still answered.
    expect(await service.ask("{ __typename }")).toMatchObject({
      status: 200,
      data: { __typename: "Query" },
    });

    await proxy.restore();
    const { ms } = await timed(() =>
      waitFor("an answer", async () => (await users()).status === 200),
    );
    expect(ms).toBeLessThan(15_000);
    expect((await send(service.url, { method: "GET", path: "/readyz" })).status).toBe(200);
  });

  test("that only closes connections counts as down", async () => {
    await proxy.cut("hang up");
    for (let round = 0; round < 12; round++) expectUnavailable(await users());
    expect((await send(service.url, { method: "GET", path: "/readyz" })).status).toBe(503);
  });

  test("fails requests in progress with 503", async () => {
    await locked(database.pool, "campaigns", async () => {
      const answer = service.ask("{ campaigns { id } me { id } }", { token });
      await waitForWaiter(database.pool);
      await proxy.cut();
      expectUnavailable(await answer);
    });
  });

  test("that closed all connections has no effect on the next request", async () => {
    await Promise.all(Array.from({ length: 10 }, users));
    await database.pool
      .query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      )
      .catch(() => undefined);
    // Some may get a connection that has just closed, but only once.
    const answers = await Promise.all(Array.from({ length: 10 }, users));
    for (const answer of answers) if (answer.status !== 200) expectUnavailable(answer);
    await waitFor("ten answers at once", async () =>
      (await Promise.all(Array.from({ length: 10 }, users))).every(({ status }) => status === 200),
    );
  });

  test("neither ends the process nor logs a secret", async () => {
    expect(service.process.exitCode).toBeNull();
    await waitForOutput(service, "database unreachable");
    const log = service.output();
    expect(log).not.toContain(token);
    expect(log).not.toMatch(/bos_[A-Za-z0-9_-]{20}|Bearer |postgres(ql)?:\/\//);
  });
});

test("a server that starts before its database waits for it", async () => {
  await proxy.cut("hang up");
  const before = proxy.hungUp();
  const starting = startService({ database: { ...database, url: proxy.url } });
  // The running server may fail to connect too, but gets no requests.
  await waitFor("two attempts", () => proxy.hungUp() >= before + 2);
  await proxy.restore();
  const late = await starting;
  try {
    expect((await late.ask("{ __typename }")).status).toBe(200);
    expect(late.output()).toContain("start waiting for database");
  } finally {
    await late.stop();
  }
});
