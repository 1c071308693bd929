import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { startCluster } from "../helpers/cluster.ts";
import { locked } from "../helpers/locked.ts";
import { askAt } from "../helpers/service.ts";
import { canMount, mountSmallDisk } from "../helpers/smallDisk.ts";
import { timed } from "../helpers/http.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { World } from "./world.ts";
import { startWorld, testWhere, underLedger } from "./world.ts";

// What the machine gives runs out: connections, room on the disk.
jest.setTimeout(400_000);

async function inWorld(
  options: Parameters<typeof startWorld>[0],
  work: (world: World) => Promise<void>,
): Promise<void> {
  const world = await startWorld(options);
  try {
    await work(world);
  } finally {
    await world.fleet.stop();
  }
}

test("With all connections to the database taken, callers are told to come again, and it is over with the cause", async () => {
  await inWorld(
    { env: { DATABASE_POOL_SIZE: "2", DATABASE_STATEMENT_TIMEOUT_MS: "20000" } },
    async (world) => {
      const { fleet, staff } = world;
      await underLedger(world, async (ledger) => {
        const slow = () =>
          askAt(
            fleet.url,
            'mutation { deleteCampaign(id: "00000000-0000-0000-0000-000000000000") }',
            {
              token: staff.token,
            },
          );
        let waiting: Promise<unknown>[] = [];
        await locked(fleet.database.pool, "campaigns", async (release) => {
          waiting = Array.from({ length: 12 }, slow);
          await waitFor("the refusals", () => ledger.tries.at(-1)?.outcome === "503", 15_000);
          const { ms, result } = await timed(() =>
            askAt(fleet.url, "{ me { id } }", { token: staff.token }),
          );
          expect(result.status).toBe(503);
          expect(Number(result.headers.get("retry-after"))).toBeGreaterThan(0);
          expect(ms).toBeLessThan(6_000);
          await release();
        });
        const { ms } = await timed(() => ledger.more(5));
        process.stdout.write(
          `pool exhausted: five changes ${Math.round(ms)} ms after it was free\n`,
        );
        expect(ms).toBeLessThan(5_000);
        await Promise.all(waiting);
      });
    },
  );
});

testWhere(canMount(), "a full disk: only root can mount a small one")(
  "With a full disk under the database changes are told to come again, and are made once there is room",
  async () => {
    const disk = await mountSmallDisk(400);
    try {
      const cluster = await startCluster(join(disk.folder, "cluster"));
      await inWorld({ cluster }, async (world) => {
        await underLedger(world, async (ledger) => {
          await disk.fill();
          const full = Date.now();
          await waitFor(
            "the refusals",
            () =>
              ledger.tries.filter(({ at, outcome }) => at > full && outcome === "503").length > 5,
            60_000,
          );
          await disk.empty();
          // PostgreSQL itself may have ended, when it found no room for its log: whoever runs it starts it again.
          if (!cluster.runs()) await cluster.start();
          const { ms } = await timed(() => ledger.more(5));
          process.stdout.write(
            `disk full: five changes ${Math.round(ms)} ms after there was room\n`,
          );
        });
      });
    } finally {
      await disk.remove();
    }
  },
);
