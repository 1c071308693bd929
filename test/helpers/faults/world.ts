import { afterAll, beforeAll, test } from "@jest/globals";
import { faultSeed } from "../environment.ts";
import type { Fleet, FleetOptions } from "../fleet.ts";
import { startFleet } from "../fleet.ts";
import { loginWith } from "../service.ts";
import { waitFor } from "../waitFor.ts";
import { checkInvariants, recordState } from "./invariants.ts";
import type { Ledger } from "./ledger.ts";
import { startLedger } from "./ledger.ts";

/** A fleet with a user who has all permissions, and data to export. */
export interface World {
  fleet: Fleet;
  staff: { token: string; userId: string };
  templateId: string;
  productIds: string[];
}

const products = 120;

export async function startWorld(options: FleetOptions = {}): Promise<World> {
  const fleet = await startFleet(options);
  try {
    const { pool } = fleet.database;
    const { rows: keys } = await pool.query<{ key: string }>("select key from permissions");
    const staff = await loginWith(
      fleet.database,
      keys.map(({ key }) => key),
    );
    const { rows: made } = await pool.query<{ id: string }>(
      `insert into products (erp_product_number, name, description)
       select 'base-' || n, 'Wine ' || n, repeat(md5(n::text), 10) from generate_series(1, $1::integer) as n returning id`,
      [products],
    );
    const { rows: templates } = await pool.query<{ id: string }>(
      "select id from export_templates where kind = 'TABLE' order by name limit 1",
    );
    await waitFor("the collections to be built", async () => {
      const { rows } = await pool.query<{ built: boolean }>(
        "select bool_and(version is not null) as built from search_state()",
      );
      return rows[0]?.built === true;
    });
    return {
      fleet,
      staff,
      templateId: templates[0]?.id ?? "",
      productIds: made.map(({ id }) => id),
    };
  } catch (error) {
    await fleet.stop();
    throw error;
  }
}

interface UnderLedgerOptions {
  clients?: number;
  pauseMs?: number;
  /** The allowed reasons of failed exports; by default no export may fail. */
  exportsMayFail?: RegExp | null;
}

let ledgers = 0;

/**
 * Runs clients while `work` causes and repairs a fault, then stops them and checks all invariants. A failure names the
 * seed of the clients.
 */
export async function underLedger(
  world: World,
  work: (ledger: Ledger) => Promise<void>,
  { exportsMayFail = null, ...options }: UnderLedgerOptions = {},
): Promise<void> {
  const before = await recordState(world);
  const ledger = startLedger({
    url: world.fleet.url,
    token: world.staff.token,
    author: {
      userId: world.staff.userId,
      templateId: world.templateId,
      productIds: world.productIds,
    },
    name: `l${++ledgers}c`,
    ...options,
  });
  try {
    try {
      await ledger.waitForMore(20);
      await work(ledger);
      await ledger.waitForMore(20);
    } finally {
      await ledger.stop();
    }
    await checkInvariants(world, ledger, before, exportsMayFail);
  } catch (error) {
    process.stderr.write(`FAULT_SEED=${faultSeed}\n${lastWarnings(world.fleet)}\n`);
    throw error;
  }
}

/** The last warnings and errors of the processes. */
function lastWarnings({ servers, workers }: Fleet): string {
  return [...servers, ...workers]
    .map((member) => {
      const lines = member
        .output()
        .split("\n")
        .filter((line) => !/"level":"(info|debug)"/.test(line));
      const last = lines.slice(-8).map((line) => line.slice(0, 300));
      return `${member.name}:\n${last.join("\n")}`;
    })
    .join("\n");
}

/** A world shared by all tests of a file. */
export function worldOfFile(options: FleetOptions = {}): () => World {
  let world: World | undefined;
  beforeAll(async () => {
    world = await startWorld(options);
  }, 180_000);
  afterAll(async () => {
    await world?.fleet.stop();
  }, 120_000);
  return () => {
    if (!world) throw new Error("the fleet did not start");
    return world;
  };
}

/** A test that is skipped with a message where the machine lacks a requirement. */
export function testIf(has: boolean, reason: string) {
  if (!has) process.stderr.write(`skipped: ${reason}\n`);
  return has ? test : test.skip;
}
