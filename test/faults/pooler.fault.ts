import { expect, jest } from "@jest/globals";
import { startCluster } from "../helpers/cluster.ts";
import { faultKills } from "../helpers/environment.ts";
import { hasPooler } from "../helpers/pooler.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { startWorld, testIf, underLedger } from "../helpers/faults/world.ts";

// PostgreSQL is killed repeatedly under load while servers use it through PgBouncer in transaction mode.
jest.setTimeout(1_800_000);

testIf(hasPooler(), "PostgreSQL killed behind PgBouncer: pgbouncer is not on PATH")(
  "keeps each mutation acknowledged through PgBouncer exactly once while PostgreSQL is killed repeatedly",
  async () => {
    const cluster = await startCluster();
    const world = await startWorld({ cluster, pooler: { poolSize: 5 } });
    try {
      await underLedger(world, async (ledger) => {
        const recoveries: number[] = [];
        for (let turn = 0; turn < faultKills; turn++) {
          await ledger.waitForMore(20);
          const killed = Date.now();
          if (turn % 2 === 0) {
            await cluster.kill();
            await waitFor("it to be noticed", () => ledger.tries.at(-1)?.outcome === "503");
            await cluster.start();
          } else await cluster.killBackend();
          const back = Date.now();
          await ledger.waitForMore(10);
          const first = ledger.tries.find(({ at, outcome }) => at > killed && outcome === "ok");
          recoveries.push(Math.max(0, (first?.at ?? Infinity) - back));
        }
        const failed = ledger.tries.filter(({ outcome }) => outcome !== "ok");
        // Every client gets a response, at worst 503 with Retry-After.
        expect(new Set(failed.map(({ outcome }) => outcome))).not.toContain("network");
        expect(Math.max(...ledger.tries.map(({ ms }) => ms))).toBeLessThan(20_000);
        process.stdout.write(
          `PostgreSQL killed ${faultKills} times behind PgBouncer: ${ledger.acknowledged()} changes acknowledged, ${failed.length} tries failed, ` +
            `slowest ${Math.max(...ledger.tries.map(({ ms }) => ms))} ms, first success after its return ${recoveries.join(", ")} ms\n`,
        );
      });
    } finally {
      await world.fleet.stop();
    }
  },
);
