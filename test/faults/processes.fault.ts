import { setTimeout as delay } from "node:timers/promises";
import { expect, jest, test } from "@jest/globals";
import { randomOf } from "../../dev/emulators/erp/random.ts";
import { faultKills, faultSeed } from "../helpers/environment.ts";
import type { Member } from "../helpers/fleet.ts";
import { askAt } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { Ledger } from "../helpers/faults/ledger.ts";
import { underLedger, worldOfFile } from "../helpers/faults/world.ts";

// Processes that are killed, stopped and paused while clients work.
const kills = Math.max(10, Math.floor(faultKills / 4));
jest.setTimeout(420_000 + kills * 20_000);

const orders = 60;
const world = worldOfFile({ orders, erp: { pageSize: 5 } });
const died = /worker.*died|died.*worker|process that worked on it ended again/i;

const run = (mutation: string) =>
  askAt(world().fleet.url, `mutation { ${mutation} { id } }`, { token: world().staff.token });

/** Kills one of the members repeatedly at times derived from the seed, while the others continue. */
async function killAtManyPoints(members: Member[], ledger: Ledger, each?: () => Promise<unknown>) {
  const random = randomOf(faultSeed, members[0]?.name ?? "");
  for (let kill = 0; kill < kills; kill++) {
    await each?.();
    await ledger.waitForMore(random.below(4));
    await delay(random.below(400));
    const member = members[random.below(members.length)];
    const starts = member?.starts() ?? 0;
    member?.signal("SIGKILL");
    await member?.ready(starts + 1);
  }
}

test(`workers killed ${kills} times in exports, imports and deliveries: each job completes once`, async () => {
  const { workers, database, external } = world().fleet;
  await underLedger(
    world(),
    async (ledger) => {
      await killAtManyPoints(workers, ledger, async () => {
        await run("importErpOrders");
        await fetch(`${external.erp.controlUrl}/salesOrders/touch`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ count: 10 }),
        });
      });
    },
    { exportsMayFail: died },
  );
  // Runs whose worker died three times have failed with a reason; the next one succeeds.
  const { rows } = await database.pool.query<{ error: string }>(
    "select error from erp_sync_runs where status = 'FAILED'",
  );
  for (const { error } of rows) expect(error).toMatch(died);
  expect((await run("importErpOrders")).errors).toBeUndefined();
  await waitFor("the orders of the ERP to be there, once", async () => {
    const found = await database.pool.query<{ count: number }>(
      "select count(*)::integer from orders",
    );
    return found.rows[0]?.count === orders;
  });
});

test(`servers killed ${kills} times: each acknowledged change is stored, and each idempotency key runs once`, async () => {
  const { servers } = world().fleet;
  await underLedger(world(), async (ledger) => {
    await killAtManyPoints(servers, ledger);
    expect(ledger.tries.some(({ outcome }) => outcome === "network")).toBe(true);
  });
});

test("servers and workers stopped under load exit within 25 s without losing a request", async () => {
  const { servers, workers } = world().fleet;
  await underLedger(
    world(),
    async (ledger) => {
      const often = Array.from({ length: Math.ceil(kills / 10) }, () => servers).flat();
      for (const member of [...often, ...workers]) {
        const starts = member.starts();
        member.signal("SIGTERM");
        await member.ready(starts + 1);
        await ledger.waitForMore(5);
        const last = member.ends().at(-1);
        expect({ name: member.name, how: last?.how }).toEqual({ name: member.name, how: "0" });
        expect(last?.ms).toBeLessThan(25_000);
      }
      const lost = ledger.tries.filter(({ outcome }) => outcome !== "ok");
      expect(lost).toEqual([]);
    },
    { clients: 8, pauseMs: 10 },
  );
});

test("paused and resumed servers and workers apply nothing twice", async () => {
  const { servers, workers } = world().fleet;
  await underLedger(world(), async (ledger) => {
    for (const member of [...workers, ...servers, ...workers]) {
      member.signal("SIGSTOP");
      // Longer than the heartbeat timeout.
      await delay(5_000);
      member.signal("SIGCONT");
      await ledger.waitForMore(10);
      await member.ready();
    }
  });
});
