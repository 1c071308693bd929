import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { startCluster } from "../helpers/cluster.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { hasPooler } from "../helpers/pooler.ts";
import { askAt } from "../helpers/service.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import {
  createExtraSqlDir,
  runMigrate,
  suppliersFolder,
} from "../helpers/migration/extraSqlDir.ts";
import type { World } from "../helpers/faults/world.ts";
import { startWorld, testIf, underLedger } from "../helpers/faults/world.ts";

jest.setTimeout(480_000);

let own: ExtraSqlDir;
beforeAll(async () => {
  own = await createExtraSqlDir();
});
afterAll(() => own.remove());

/** Readers that keep their connections and never retry, like a browser; records their errors. */
function startReaders({ fleet, staff }: World, count: number) {
  const wrong: string[] = [];
  let answers = 0;
  let stopping = false;
  const read = async () => {
    while (!stopping) {
      const began = Date.now();
      await askAt(
        fleet.url,
        "{ campaigns { id title } products(first: 5) { nodes { id name } } }",
        {
          token: staff.token,
        },
      ).then(
        ({ status, errors }) => {
          answers++;
          if (status !== 200 || errors) wrong.push(`${status} ${JSON.stringify(errors)}`);
        },
        (error: unknown) => {
          const { cause } = error as { cause?: unknown };
          wrong.push(`${String(cause ?? error)} after ${Date.now() - began} ms`);
        },
      );
      await delay(30);
    }
  };
  const running = Promise.all(Array.from({ length: count }, read));
  return {
    wrong,
    answers: () => answers,
    async stop() {
      stopping = true;
      await running;
    },
  };
}

/** Adds a table and a column under load, then replaces the processes one after the other. */
async function deploy(world: World, migratedAt: string): Promise<void> {
  const { fleet, staff } = world;
  await underLedger(
    world,
    async (ledger) => {
      const readers = startReaders(world, 4);
      try {
        await cp(suppliersFolder, own.path, { recursive: true });
        expect(await runMigrate(migratedAt, own.path)).toMatchObject({ code: 0 });
        await ledger.waitForMore(20);
        for (const member of [...fleet.servers, ...fleet.workers]) {
          await member.restart();
          expect(member.ends().at(-1)?.how).toBe("0");
          await ledger.waitForMore(10);
        }
      } finally {
        await readers.stop();
      }
      expect(readers.answers()).toBeGreaterThan(50);
      expect(readers.wrong).toEqual([]);
      expect(ledger.tries.filter(({ outcome }) => outcome !== "ok")).toEqual([]);
      process.stdout.write(
        `rolling deploy: ${readers.answers()} reads and ${ledger.acknowledged()} changes, none failed, slowest change ${Math.max(...ledger.tries.map(({ ms }) => ms))} ms\n`,
      );
    },
    { clients: 3 },
  );
  // Every server serves the new table and column.
  const { rows } = await fleet.database.pool.query<{ id: string }>(
    `insert into role_permissions (role_id, permission_id) select ur.role_id, p.id from user_roles ur, permissions p
     where ur.user_id = $1 and p.key like 'suppliers.%' returning role_id as id`,
    [staff.userId],
  );
  expect(rows).toHaveLength(4);
  for (const server of fleet.servers) {
    const { errors, data } = await askAt(
      server.url() ?? "",
      `{ suppliers { nodes { name } } products(first: 1) { nodes { supplier { name } } } }`,
      { token: staff.token },
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      suppliers: { nodes: [] },
      products: { nodes: [{ supplier: null }] },
    });
  }
}

test("a deployment with a migration under load fails no request", async () => {
  expect(await readdir(join(own.path, "migrations"))).toEqual([]);
  const world = await startWorld({ env: { DATABASE_EXTRA_SQL_DIR: own.path } });
  try {
    await deploy(world, world.fleet.database.url);
  } finally {
    await world.fleet.stop();
  }
});

testIf(hasPooler(), "faults behind PgBouncer: pgbouncer is not on PATH")(
  "works behind PgBouncer in transaction mode with three connections",
  async () => {
    const cluster = await startCluster();
    const world = await startWorld({ cluster, pooler: { poolSize: 3 } });
    try {
      await underLedger(world, async (ledger) => {
        const { servers, workers, databaseProxy } = world.fleet;
        await ledger.waitForMore(100);
        expect(ledger.tries.filter(({ outcome }) => outcome !== "ok")).toEqual([]);
        servers[0]?.signal("SIGKILL");
        workers[0]?.signal("SIGKILL");
        await ledger.waitForMore(20);
        await databaseProxy.cut();
        await waitFor("it to be noticed", () => ledger.tries.at(-1)?.outcome === "503");
        await databaseProxy.restore();
        await ledger.waitForMore(40);
        await Promise.all([servers[0]?.ready(2), workers[0]?.ready(2)]);
      });
    } finally {
      await world.fleet.stop();
    }
  },
);
