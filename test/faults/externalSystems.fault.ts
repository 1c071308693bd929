import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, jest, test } from "@jest/globals";
import type { Step } from "../helpers/fakeProvider.ts";
import type { ExternalSystemName } from "../helpers/externalSystems.ts";
import type { Proxy } from "../helpers/proxy.ts";
import { httpAnswer } from "../helpers/proxy.ts";
import { askAt } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { underLedger, worldOfFile } from "../helpers/faults/world.ts";

// Each external system fails in several ways while clients make related and unrelated changes.
jest.setTimeout(240_000);

const orders = 60;
const world = worldOfFile({ orders, erp: { pageSize: 10 } });
/** How long each kind of failure lasts. */
const mannerMs = 2_500;
/** The longest allowed time of a change meanwhile, on a busy machine. */
const longestMs = 4_000;

const overHttp: [string, (proxy: Proxy) => unknown][] = [
  ["answers with 500", (proxy) => proxy.answer(httpAnswer(500, `{"message": "broken"}`))],
  [
    "is busy",
    (proxy) => proxy.answer(httpAnswer(429, `{"message": "busy"}`, { "retry-after": "1" })),
  ],
  ["answers nonsense", (proxy) => proxy.answer(httpAnswer(200, "<html>Welcome</html>"))],
];
const overMail: [string, (proxy: Proxy) => unknown][] = [
  ["is busy", (proxy) => proxy.answer("421 Come again later\r\n")],
  ["answers nonsense", (proxy) => proxy.answer("Welcome!\r\n")],
];
const inAnyCase: [string, (proxy: Proxy) => unknown][] = [
  ["is slow", (proxy) => proxy.slow(400)],
  ["hangs up amid its answers", (proxy) => proxy.cutAfter(90)],
  ["says nothing", (proxy) => proxy.blackHole()],
  ["is down", (proxy) => proxy.cut()],
];

/** The system's name on the health page. */
const shownAs: Record<ExternalSystemName, { name: string; by: "servers" | "workers" }> = {
  files: { name: "files", by: "workers" },
  search: { name: "search", by: "workers" },
  ERP: { name: "erp", by: "workers" },
  workflow: { name: "workflow", by: "workers" },
  mail: { name: "mail", by: "workers" },
  model: { name: "language model", by: "servers" },
};

let restore: () => Promise<void> = async () => {};
afterEach(() => restore());

/** The exits of processes; none is expected. */
const ends = () =>
  [...world().fleet.servers, ...world().fleet.workers].flatMap((member) =>
    member.ends().map(({ how }) => `${member.name}: ${how} ${member.output().slice(-1_500)}`),
  );

const ask = (document: string) =>
  askAt(world().fleet.url, document, { token: world().staff.token });

/** Additional work that needs the system. */
const needs: Partial<Record<ExternalSystemName, () => Promise<unknown>>> = {
  ERP: () => ask("mutation { importErpOrders { id } }"),
  workflow: () =>
    ask(
      `mutation { triggerProductSync(input: { erpProductNumbers: ["${Date.now()}"] }) { accepted } }`,
    ),
  model: async () => {
    const answer = await fetch(`${world().fleet.url}/ai/chat`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${world().staff.token}`,
      },
      body: JSON.stringify({
        id: `talk-${Date.now()}`,
        messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "Which wines?" }] }],
      }),
      signal: AbortSignal.timeout(1_500),
    });
    await answer.text();
  },
};

async function states(name: ExternalSystemName) {
  const shown = shownAs[name];
  const pages = await Promise.all(world().fleet[shown.by].map((member) => member.health()));
  const found = pages.flatMap(({ systems }) => systems.filter((one) => one.name === shown.name));
  expect(found.length).toBeGreaterThan(0);
  return found;
}

const names = Object.keys(shownAs) as ExternalSystemName[];
test.each(names)(
  "a failing %s system affects nothing else, shows on the health page, and its waiting work is done later",
  async (name) => {
    const proxy = world().fleet.external.proxies[name];
    const manners = [...(name === "mail" ? overMail : overHttp), ...inAnyCase];
    await underLedger(
      world(),
      async (ledger) => {
        for (const [manner, begin] of manners) {
          const from = ledger.tries.length;
          await begin(proxy);
          // Restores the system for the next test, even when this one fails.
          restore = () => proxy.restore();
          // Requests that need the failing system itself may fail.
          await Promise.all([needs[name]?.().catch(() => undefined), delay(mannerMs)]);
          await ledger.waitForMore(8);
          const tries = ledger.tries.slice(from);
          expect({ manner, bad: tries.filter(({ outcome }) => outcome !== "ok") }).toEqual({
            ...{ manner, bad: [] },
          });
          expect(Math.max(...tries.map(({ ms }) => ms))).toBeLessThan(longestMs);
          if (manner === "is down")
            await waitFor(
              "the health page to say that it is down",
              async () => {
                await needs[name]?.().catch(() => undefined);
                return (await states(name)).some(
                  ({ state, circuit }) => state === "down" || circuit === "open",
                );
              },
              30_000,
            );
          await proxy.restore();
          expect({ manner, ends: ends() }).toEqual({ manner, ends: [] });
        }
        await waitFor(
          "the health page to report all systems as up",
          async () => {
            await needs[name]?.().catch(() => undefined);
            return (await states(name)).every(
              ({ state, circuit }) => state !== "down" && circuit !== "open",
            );
          },
          60_000,
        );
      },
      { exportsMayFail: name === "files" ? /\w/ : null },
    );
    if (name !== "ERP") return;
    await ask("mutation { importErpOrders { id } }");
    await waitFor("the orders to be there", async () => {
      const { rows } = await world().fleet.database.pool.query<{ count: number }>(
        "select count(*)::integer from orders",
      );
      return rows[0]?.count === orders;
    });
  },
);

test("a failing identity provider does not affect logged-in users and shows on the health page", async () => {
  const { provider } = world().fleet.external;
  const loginState = async () => {
    const pages = await Promise.all(world().fleet.servers.map((member) => member.health()));
    return pages.flatMap(({ systems }) => systems.filter(({ name }) => name === "login fleet"));
  };
  await underLedger(world(), async (ledger) => {
    for (const fault of ["slow", "500", "malformed", "endless", "down"] as const) {
      for (const step of ["discovery", "jwks", "token"] satisfies Step[])
        provider.break("fleet", step, fault);
      const from = ledger.tries.length;
      await fetch(`${world().fleet.url}/auth/login/fleet?return_to=/`, {
        redirect: "manual",
        signal: AbortSignal.timeout(1_000),
      }).catch(() => undefined);
      await ledger.waitForMore(8);
      const bad = ledger.tries.slice(from).filter(({ outcome }) => outcome !== "ok");
      expect({ fault, bad }).toEqual({ fault, bad: [] });
      if (fault === "down")
        await waitFor("the health page to say that it is down", async () =>
          (await loginState()).some(({ state }) => state === "down"),
        );
      provider.heal();
    }
    await waitFor("the health page to report all systems as up", async () =>
      (await loginState()).every(({ state }) => state === "up"),
    );
  });
});
