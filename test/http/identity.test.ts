import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { mixedRequests } from "../helpers/environment.ts";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService({ env: { DATABASE_POOL_SIZE: "2", LOG_LEVEL: "warn" } });
});
afterAll(async () => {
  await service.stop();
});

/** Deterministic pseudo-random numbers below `limit`. */
function randomNumbers(seed: number) {
  let state = seed;
  return (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

test(`never confuses callers in ${mixedRequests} mixed requests over two connections`, async () => {
  const permissions = [
    [],
    ["users.read"],
    ["campaigns.read"],
    ["users.read", "campaigns.read"],
    ["roles.read"],
  ];
  const callers = await Promise.all(
    permissions.map(async (keys, index) => ({
      keys,
      email: `caller${index}@example.com`,
      ...(await service.login(keys, `caller${index}@example.com`)),
    })),
  );
  const random = randomNumbers(7);
  const missing = (key: string) => ({ message: `Missing required permission: ${key}` });
  const anonymous = { message: "You are not logged in" };
  const ended = { message: "The token is unknown or has ended" };

  const one = async () => {
    const caller = callers[random(callers.length + 1)];
    const token = caller?.token ?? (random(2) === 0 ? null : "bos_wrong");
    switch (random(6)) {
      case 0: {
        const answer = await service.ask("{ users { id } }", { token });
        if (!caller) expect(answer.errors).toMatchObject([token === null ? anonymous : ended]);
        else if (!caller.keys.includes("users.read"))
          expect(answer.errors).toMatchObject([missing("users.read")]);
        else expect(answer.data.users.length).toBe(callers.length);
        return;
      }
      case 1: {
        // Fails within the transaction.
        const answer = await service.ask(
          `mutation { devLogin(email: "nobody@example.com") { token } }`,
        );
        expect(answer.errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
        return;
      }
      case 2: {
        const answer = await service.ask("{ campaigns { id } me { email } }", { token });
        if (caller) {
          expect(answer.errors ?? []).toMatchObject(
            caller.keys.includes("campaigns.read") ? [] : [missing("campaigns.read")],
          );
          if (answer.data) expect(answer.data.me.email).toBe(caller.email);
        } else expect(answer.data?.me ?? null).toBeNull();
        return;
      }
      case 3: {
        // Changes the caller for the later fields of the same operation.
        const target = callers[random(callers.length)];
        const answer = await service.ask(
          `mutation ($e: String!) { devLogin(email: $e) { user { email } } }`,
          { variables: { e: target?.email } },
        );
        expect(answer.data.devLogin.user.email).toBe(target?.email);
        return;
      }
      default: {
        const answer = await service.ask("{ me { id email } }", { token });
        expect(answer.data.me).toEqual(caller ? { id: caller.userId, email: caller.email } : null);
      }
    }
  };
  for (let sent = 0; sent < mixedRequests; sent += 20)
    await Promise.all(Array.from({ length: 20 }, one));
}, 600_000);
