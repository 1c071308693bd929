import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { startCluster } from "../helpers/cluster.ts";
import { locked } from "../helpers/locked.ts";
import { askAt } from "../helpers/service.ts";
import { canMount, mountSmallDisk } from "../helpers/smallDisk.ts";
import { timed } from "../helpers/http.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { World } from "../helpers/faults/world.ts";
import { startWorld, testIf, underLedger } from "../helpers/faults/world.ts";

// The machine runs out of connections, memory or disk space.
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

const exportState = async ({ fleet }: World, id: string) => {
  const { rows } = await fleet.database.pool.query<{ state: string; reason: string | null }>(
    "select state, error_message as reason from export_jobs where id = $1",
    [id],
  );
  return rows[0];
};

/** Starts an export of products; returns its id. */
async function beginExport({ fleet, staff, templateId }: World, productIds: readonly string[]) {
  const { data, errors } = await askAt(
    fleet.url,
    `mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }`,
    { token: staff.token, variables: { input: { templateId, productIds } } },
  );
  expect(errors).toBeUndefined();
  return data.createDataExportFromTemplate.id as string;
}

/** Waits until the export has ended, with a file or a reason. */
async function expectOver(world: World, id: string): Promise<string> {
  return waitFor(
    "the export to end",
    async () => {
      // Lets retries run now, before other waiting jobs.
      await world.fleet.database.pool.query(
        "update graphile_worker._private_jobs set run_at = now(), priority = -1 where payload -> 'input' ->> 'jobId' = $1 and locked_at is null",
        [id],
      );
      const found = await exportState(world, id);
      if (found?.state === "failed") expect(found.reason).toMatch(/\w/);
      return ["completed", "failed"].includes(found?.state ?? "") && found?.state;
    },
    120_000,
  );
}

test("with exhausted database connections callers get a retryable error until connections are free", async () => {
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
        const statuses: number[] = [];
        await locked(fleet.database.pool, "campaigns", async (release) => {
          waiting = Array.from({ length: 12 }, () => slow().then((a) => statuses.push(a.status)));
          // The ledger's clients may have got the connections themselves.
          await waitFor("the refusals", () => statuses.includes(503), 15_000);
          const { ms, result } = await timed(() =>
            askAt(fleet.url, "{ me { id } }", { token: staff.token }),
          );
          expect(result.status).toBe(503);
          expect(Number(result.headers.get("retry-after"))).toBeGreaterThan(0);
          expect(ms).toBeLessThan(6_000);
          await release();
        });
        const { ms } = await timed(() => ledger.waitForMore(5));
        process.stdout.write(
          `pool exhausted: five changes ${Math.round(ms)} ms after it was free\n`,
        );
        expect(ms).toBeLessThan(5_000);
        await Promise.all(waiting);
      });
    },
  );
});

test("with 256 MB of memory large exports, imports and reads end or fail with a reason, and processes recover", async () => {
  await inWorld({ memory: 256 }, async (world) => {
    const { fleet, staff } = world;
    const { rows } = await fleet.database.pool.query<{ id: string }>(
      `insert into products (erp_product_number, name, description)
       select 'large-' || n, 'Wine ' || n, repeat(md5(n::text), 30) from generate_series(1, 20000) as n returning id`,
    );
    const ask = async (document: string, variables = {}) => {
      const began = performance.now();
      // A request is cut off when its server exits for lack of memory; the client repeats it.
      const answer = await askAt(fleet.url, document, { token: staff.token, variables }).catch(
        () => null,
      );
      return { answer, ms: performance.now() - began };
    };
    await underLedger(
      world,
      async (ledger) => {
        const ids = await Promise.all(
          Array.from({ length: 3 }, () =>
            beginExport(
              world,
              rows.map(({ id }) => id),
            ),
          ),
        );
        const sync = `mutation ($input: SyncProductsInput!) { syncProducts(input: $input) { failedCount } }`;
        const products = (count: number, batch: number) => ({
          input: {
            products: Array.from({ length: count }, (_, index) => ({
              erpProductNumber: `import-${batch}-${index}`,
              fields: { name: `Imported ${index}`, description: "x".repeat(4_500) },
            })),
          },
        });
        const page = `nodes { id name description images { url } ratings { points } prices { amount } }`;
        const large = await Promise.all([
          ...Array.from({ length: 6 }, (_, batch) => ask(sync, products(1_000, batch))),
          ...Array.from({ length: 12 }, () =>
            ask(`{ a: products(first: 250) { ${page} } b: products(last: 250) { ${page} } }`),
          ),
        ]);
        const outcomes = large.map(({ answer, ms }) => {
          expect(ms).toBeLessThan(60_000);
          if (answer === null) return "cut";
          for (const { message, extensions } of answer.errors ?? [])
            expect({ message, code: extensions.code }).toEqual({ message, code: "UNAVAILABLE" });
          expect(answer.data?.syncProducts?.failedCount ?? 0).toBe(0);
          return answer.errors ? "refused" : "done";
        });
        const ends = [];
        for (const id of ids) ends.push(await expectOver(world, id));
        await ledger.waitForMore(20);
        const members = [...fleet.servers, ...fleet.workers];
        await Promise.all(members.map((member) => member.ready()));
        const output = members.map(
          (one) =>
            `${one.name} ${
              one
                .ends()
                .map(({ how }) => how)
                .join(" ") || "lived"
            }`,
        );
        process.stdout.write(
          `256 MB: exports ${ends.join(", ")}; large requests ${outcomes.toSorted().join(", ")}; ${output.join(", ")}\n`,
        );
        expect(outcomes).toContain("done");
      },
      { exportsMayFail: /died|process that worked on it ended again/ },
    );
  });
});

testIf(canMount(), "a full disk: only root can mount a small one")(
  "with a full database disk changes get a retryable error and succeed once there is space",
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
          const output = world.fleet.servers.map((server) => server.output()).join("\n");
          expect(output).toContain('"msg":"database disk full"');
          await disk.empty();
          // PostgreSQL itself may have stopped for lack of disk space; its operator restarts it.
          if (!cluster.runs()) await cluster.start();
          const { ms } = await timed(() => ledger.waitForMore(5));
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

testIf(canMount(), "a full disk of the file store: only root can mount a small one")(
  "with a full object store disk an export fails with a reason, and a later one succeeds",
  async () => {
    const disk = await mountSmallDisk(64);
    const filesFolder = join(disk.folder, "files");
    await mkdir(filesFolder);
    try {
      await inWorld({ filesFolder }, async (world) => {
        await underLedger(
          world,
          async () => {
            await disk.fill();
            const id = await beginExport(world, world.productIds);
            expect(await expectOver(world, id)).toBe("failed");
            const { reason } = (await exportState(world, id)) ?? {};
            process.stdout.write(`file store full: the export says "${reason}"\n`);
            expect(reason).toBe("The file store is full (given up after 5 attempts)");
            await disk.empty();
            const next = await beginExport(world, world.productIds);
            expect(await expectOver(world, next)).toBe("completed");
          },
          { exportsMayFail: /store/i },
        );
      });
    } finally {
      await disk.remove();
    }
  },
);
