import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { getIntrospectionQuery } from "graphql";
import { hostileDocuments } from "../helpers/hostileDocuments.ts";
import { send, timed } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService();
  ({ token } = await service.login([
    "users.read",
    "roles.read",
    "products.read",
    "permissions.read",
  ]));
  // Excludes JIT compilation from the measurement.
  for (let index = 0; index < 20; index++)
    await service.ask(`{ a${index}: users { id roles { id } } }`, { token });
});
afterAll(async () => {
  await service.stop();
});

describe("a document beyond the limits", () => {
  test.each(hostileDocuments("users", "id", "User"))(
    "is rejected at once, without delaying others: $name",
    async ({ query }) => {
      let done = false;
      const beats: number[] = [];
      const health = (async () => {
        while (!done) {
          const { ms, result } = await timed(() =>
            send(service.url, { method: "GET", path: "/healthz" }),
          );
          expect(result.status).toBe(200);
          beats.push(ms);
          await delay(2);
        }
      })();
      const times: number[] = [];
      // The fastest of several runs. The limit is 50 ms; four test processes share two cores.
      for (let round = 0; round < 5 || (Math.min(...times) >= 100 && round < 30); round++) {
        // Adds a blank each time, because rejections are cached.
        const { ms, result } = await timed(() => service.ask(query + " ".repeat(round), { token }));
        times.push(ms);
        expect(result.status).toBe(200);
        expect(result.data ?? null).toBeNull();
        for (const error of result.errors ?? [])
          expect(error.extensions.code).toBe("BAD_USER_INPUT");
        expect(result.errors?.length).toBeGreaterThan(0);
      }
      done = true;
      await health;
      expect(Math.min(...times)).toBeLessThan(100);
      // Processing such a document would block the server for seconds each time; a busy machine may pause once.
      expect(beats.filter((ms) => ms >= 1_000).length).toBeLessThan(2);
    },
  );

  test("is rejected without a query to the database, also for anonymous callers", async () => {
    const { rows: before } = await service.database.pool.query<{ n: string }>(
      "select count(*) n from audit_log",
    );
    const [hostile] = hostileDocuments("users", "id", "User");
    const answer = await service.ask(hostile?.query ?? "");
    expect(answer.errors?.[0]?.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      limit: expect.any(Number),
    });
    const { rows: after } = await service.database.pool.query<{ n: string }>(
      "select count(*) n from audit_log",
    );
    expect(after).toEqual(before);
  });
});

test("the introspection query of graphql-js is answered in development", async () => {
  const answer = await service.ask(
    getIntrospectionQuery({
      inputValueDeprecation: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
    }),
  );
  expect(answer.errors).toBeUndefined();
  expect(answer.data.__schema.types.length).toBeGreaterThan(20);
});

test("a large document within the limits is answered", async () => {
  const query = `
    query Screen($some: Int) {
      me { ...Person }
      users { ...Person }
      products(first: 5) { nodes { id } pageInfo { hasNextPage } }
      more: products(first: $some) { totalCount }
      permissions { id key }
    }
    fragment Person on User { id email ...Access }
    fragment Access on User { roles { id name permissions { key } } }`;
  const answer = await service.ask(query, { token, variables: { some: 3 } });
  expect(answer.errors).toBeUndefined();
});
