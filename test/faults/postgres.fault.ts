import { setTimeout as delay } from "node:timers/promises";
import { expect, jest, test } from "@jest/globals";
import { longOutageSeconds } from "../helpers/environment.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { underLedger, worldOfFile } from "../helpers/faults/world.ts";

// The PostgreSQL server crashes and comes back later, without a restart of servers or workers.
jest.setTimeout(400_000);

const world = worldOfFile({ cluster: true });

test.each([5, longOutageSeconds])(
  "answers 503 while PostgreSQL is down for %i s, recovers within 2 s, and loses nothing",
  async (seconds) => {
    const { cluster, database } = world().fleet;
    await underLedger(world(), async (ledger) => {
      await cluster?.stopImmediately();
      const gone = Date.now();
      await delay(seconds * 1_000);
      const during = ledger.tries.filter(({ at }) => at > gone + 500);
      expect(during.length).toBeGreaterThan(seconds * 3);
      expect(new Set(during.map(({ outcome }) => outcome))).toEqual(new Set(["503"]));
      for (const { retryAfter } of during) expect(Number(retryAfter)).toBeGreaterThan(0);
      const slowest = Math.max(...during.map(({ ms }) => ms));
      expect(slowest).toBeLessThan(6_000);

      await cluster?.start();
      const back = Date.now();
      await ledger.waitForMore(1);
      const first = ledger.tries.find(({ at, outcome }) => at > gone && outcome === "ok");
      const after = (first?.at ?? Infinity) - back;
      process.stdout.write(
        `away ${seconds} s: slowest 503 ${slowest} ms, first success ${after} ms after its return\n`,
      );
      expect(after).toBeLessThan(2_000);
      // The schedule continues: tasks that run each minute are queued again.
      await waitFor(
        "the schedule",
        async () => {
          const { rows } = await database.pool.query<{ on: boolean }>(
            "select bool_and(last_execution > $1) as on from graphile_worker._private_known_crontabs where identifier ~ 'start_campaigns|check_search'",
            [new Date(back)],
          );
          return rows[0]?.on === true;
        },
        80_000,
      );
    });
  },
);
