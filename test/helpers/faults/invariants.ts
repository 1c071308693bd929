import { expect } from "@jest/globals";
import type pg from "pg";
import { readConfig } from "../../../src/config.ts";
import { makeTypesense } from "../../../src/gateways/typesense.ts";
import { readStates } from "../../../src/search/state.ts";
import { verifyCollection } from "../../../src/search/verify.ts";
import { askAt } from "../service.ts";
import { waitFor } from "../waitFor.ts";
import type { Ledger } from "./ledger.ts";
import type { ExpectedRows } from "./mutations.ts";
import type { World } from "./world.ts";

/** The time after a fault within which everything must recover. */
const recoveryMs = 30_000;

/** The state before a fault, for comparison. */
export interface StateBefore {
  /** The number of rows unknown to the audit log, by entity type. */
  unaudited: Record<string, number>;
  /** The duration of a request in milliseconds. */
  requestMs: number;
  /** The ids of jobs that had already failed. */
  givenUp: string[];
}

/** Records the state before a fault. */
export async function recordState(world: World): Promise<StateBefore> {
  const { pool } = world.fleet.database;
  const { rows } = await pool.query<{ id: string }>(
    "select id::text from graphile_worker._private_jobs where attempts >= max_attempts and locked_at is null",
  );
  return {
    unaudited: await unaudited(pool),
    requestMs: await speed(world),
    givenUp: rows.map(({ id }) => id),
  };
}

/** Checks all invariants after a fault, when the clients have stopped. */
export async function checkInvariants(
  world: World,
  ledger: Ledger,
  before: StateBefore,
  exportsMayFail: RegExp | null = null,
): Promise<void> {
  const { pool } = world.fleet.database;
  await expectSpeed(world, before);
  expect(ledger.surprises).toEqual([]);
  await expectQueueDrained(pool, before, exportsMayFail);
  await expectExportsEnded(pool, ledger, exportsMayFail);
  for (const promised of ledger.promised) await expectAcknowledgedStored(pool, promised);
  // All rows of a type added by a migration are in the audit log.
  for (const [type, more] of Object.entries(await unaudited(pool)))
    expect({ type, more }).toEqual({ type, more: before.unaudited[type] ?? 0 });
  await expectOneFileEach(world);
  await expectIndexEqual(world);
  await expectNoIdleTransactions(pool);
  await expectSealed(pool);
}

const speed = ({ fleet, staff }: World) =>
  median(async () => {
    const document = "{ campaigns(first: 20) { id title } me { id } }";
    return (await askAt(fleet.url, document, { token: staff.token })).status === 200;
  });

/** The median of fifteen durations in milliseconds; failures count as infinite. */
async function median(work: () => Promise<boolean>): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round < 15; round++) {
    const began = performance.now();
    const well = await work().catch(() => false);
    took.push(well ? performance.now() - began : Infinity);
  }
  return took.toSorted((a, b) => a - b)[7] ?? Infinity;
}

/** Allows three times the earlier duration, or more when trivial requests show that the machine itself is slower. */
async function expectSpeed(world: World, { requestMs }: StateBefore): Promise<void> {
  let detail = "";
  await waitFor(
    "requests to be as fast as before",
    async () => {
      const idleMs = await median(async () => (await fetch(`${world.fleet.url}/healthz`)).ok);
      const enough = Math.max(requestMs * 3, 150, idleMs * 10);
      const ms = await speed(world);
      detail = `${Math.round(ms)} ms of ${Math.round(enough)}`;
      return ms < enough;
    },
    recoveryMs,
  ).catch((error: unknown) => {
    throw new Error(`requests are slow: ${detail}`, { cause: error });
  });
}

/** No job is due, locked by a dead worker or unexpectedly failed. Lets waiting retries run at once. */
async function expectQueueDrained(
  pool: pg.Pool,
  { givenUp }: StateBefore,
  mayFail: RegExp | null,
): Promise<void> {
  await pool.query(
    `update graphile_worker._private_jobs set run_at = now()
     where attempts > 0 and attempts < max_attempts and run_at > now() and locked_at is null`,
  );
  const left = async () => {
    const { rows } = await pool.query<{ given_up: boolean; last_error: string | null }>(
      `select t.identifier as task, j.attempts >= j.max_attempts and j.locked_at is null as given_up, j.payload, j.attempts, j.max_attempts, j.locked_by, j.last_error
       from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
       where (j.run_at <= now() or j.locked_at is not null or j.attempts >= j.max_attempts) and j.id <> all ($1::bigint[])`,
      [givenUp],
    );
    return rows.filter((row) => !(row.given_up && mayFail?.test(row.last_error ?? "")));
  };
  let last: unknown[] = [];
  await waitFor(
    "the queue to be empty",
    async () => {
      last = await left();
      return last.length === 0;
    },
    60_000,
  ).catch((error: unknown) => {
    expect(last).toEqual([]);
    throw error;
  });
}

/** All exports have a file, or failed with an expected reason. */
async function expectExportsEnded(
  pool: pg.Pool,
  ledger: Ledger,
  mayFail: RegExp | null,
): Promise<void> {
  const ids = ledger.promised.flatMap(({ exports }) => [...exports]);
  let bad: unknown[] = [];
  await waitFor("the exports to end", async () => {
    const { rows } = await pool.query<{ id: string; state: string; reason: string | null }>(
      "select id, state, error_message as reason from export_jobs where id = any ($1)",
      [ids],
    );
    expect(rows).toHaveLength(ids.length);
    bad = rows.filter(
      ({ state, reason }) =>
        state !== "completed" && !(state === "failed" && mayFail?.test(reason ?? "")),
    );
    return bad.length === 0;
  }).catch((error: unknown) => {
    expect(bad).toEqual([]);
    throw error;
  });
}

/** Each acknowledged mutation is stored exactly once. */
async function expectAcknowledgedStored(pool: pg.Pool, promised: ExpectedRows): Promise<void> {
  const { campaigns, roles, invitations, products, tokens, traces } = promised;
  const read = async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]) =>
    (await pool.query<Row>(text, [values])).rows;
  const byId = (rows: { key: string; value: unknown }[]) =>
    Object.fromEntries(rows.map(({ key, value }) => [key, value]));

  expect(
    byId(
      await read(
        "select id as key, jsonb_build_object('title', title, 'status', status) as value from campaigns where id = any ($1::uuid[])",
        [...campaigns.keys()],
      ),
    ),
  ).toEqual(Object.fromEntries([...campaigns].filter(([, campaign]) => campaign !== null)));
  expect(
    byId(
      await read(
        "select id as key, jsonb_build_object('name', name) as value from roles where id = any ($1::uuid[])",
        [...roles.keys()],
      ),
    ),
  ).toEqual(Object.fromEntries(roles));
  expect(
    byId(
      await read(
        "select id as key, jsonb_build_object('email', email, 'revoked', revoked_at is not null) as value from invitations where email = any ($1)",
        [...invitations.values()].map(({ email }) => email),
      ),
    ),
  ).toEqual(Object.fromEntries(invitations));
  expect(
    byId(
      await read(
        "select erp_product_number as key, name as value from products where erp_product_number = any ($1)",
        [...products.keys()],
      ),
    ),
  ).toEqual(Object.fromEntries(products));
  expect(
    await read<{ name: string }>(
      "select name, revoked_at is not null as revoked from api_tokens where name = any ($1) order by name",
      [...tokens.keys()],
    ),
  ).toEqual(
    [...tokens]
      .map(([name, { revoked }]) => ({ name, revoked }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  );

  const wrong = await read(
    `select t, (
       select count(*)::integer from audit_log a
       where a.operation = t ->> 'operation' and a.entity_type = t ->> 'entity' and a.entity_id = t ->> 'id'
         and (t ->> 'field' is null or a.after ->> (t ->> 'field') = t ->> 'value')
     ) as found from unnest($1::jsonb[]) as t`,
    traces.map((trace) => JSON.stringify(trace)),
  );
  expect(wrong.filter(({ found }) => found !== 1)).toEqual([]);
}

/** By entity type, the number of rows minus those that are created but not deleted in the audit log. */
async function unaudited(pool: pg.Pool): Promise<Record<string, number>> {
  const { rows: tables } = await pool.query<{ type: string; name: string }>(
    `select substring(table_tags(c.oid) ->> 'audit' from '^[A-Z]\\w+') as type, c.oid::regclass::text as name
     from pg_class c where c.relnamespace = 'backoffice'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and table_tags(c.oid) ->> 'audit' ~ '^[A-Z]'`,
  );
  expect(tables.length).toBeGreaterThan(15);
  // In one snapshot, because clients change table and audit log together.
  const counts = tables.map(
    ({ type, name }) => `select '${type}' as type, count(*) as rows from ${name}`,
  );
  const { rows } = await pool.query<{ type: string; more: number }>(
    `with r as (select type, sum(rows) as rows from (${counts.join(" union all ")}) as t group by type),
       a as (select entity_type as type, count(*) filter (where operation = 'CREATE')
         - count(*) filter (where operation = 'DELETE') as made from audit_log where operation <> 'READ' group by 1)
     select r.type, (r.rows - coalesce(a.made, 0))::integer as more from r left join a using (type) order by 1`,
  );
  return Object.fromEntries(rows.map(({ type, more }) => [type, more]));
}

/** The store contains exactly the recorded files and no unfinished uploads. */
async function expectOneFileEach({ fleet }: World): Promise<void> {
  await waitFor("the stored files to match the records", async () => {
    const { rows } = await fleet.database.pool.query<{ key: string }>(
      "select file_key as key from export_jobs where file_key is not null order by 1",
    );
    const { files, unfinished } = await fleet.external.files.content();
    const named = rows.map(({ key }) => key).toSorted();
    return unfinished.length === 0 && files.join("\n") === named.join("\n");
  }).catch(async () => {
    const { rows } = await fleet.database.pool.query<{ key: string }>(
      "select key, delete_after, removed_at from stored_files",
    );
    expect({ records: rows, store: await fleet.external.files.content() }).toEqual("in agreement");
  });
}

/** The engine's documents equal the tables' rows in number and content. */
async function expectIndexEqual({ fleet }: World): Promise<void> {
  const { pool } = fleet.database;
  await waitFor("the outbox to be empty", async () => {
    const { rows } = await pool.query<{ left: number }>(
      "select count(*)::integer as left from row_changes where reader = 'search'",
    );
    return rows[0]?.left === 0;
  });
  const { search } = readConfig(fleet.env);
  const engine = makeTypesense({ ...search });
  if (!engine) throw new Error("the fleet has no search engine");
  const inTenant = async <T>(effect: (client: pg.ClientBase) => Promise<T>) => {
    const client = await pool.connect();
    try {
      return await effect(client);
    } finally {
      client.release();
    }
  };
  try {
    for (const state of await inTenant(readStates)) {
      const { version } = state;
      if (version === null) throw new Error(`${state.type} was never built`);
      const { documents, rows, different } = await verifyCollection(engine, inTenant, {
        ...state,
        version,
      });
      expect({ type: state.type, documents, different }).toEqual({
        ...{ type: state.type, documents: rows, different: [] },
      });
    }
  } finally {
    engine.close();
  }
}

async function expectNoIdleTransactions(pool: pg.Pool): Promise<void> {
  await waitFor(
    "idle transactions to end",
    async () => {
      const { rowCount } = await pool.query(
        `select from pg_stat_activity where datname = current_database()
           and state like 'idle in transaction%' and state_change < now() - interval '2 seconds'`,
      );
      return rowCount === 0;
    },
    recoveryMs,
  );
}

/** Seals the audit log and verifies its chains, like `npm run audit:verify`. */
async function expectSealed(pool: pg.Pool): Promise<void> {
  await waitFor("the audit log to be sealed", async () => {
    await pool.query("select seal_audit_log('0 seconds', 5000)");
    const { rows } = await pool.query<{ links: number }>(
      "select links::integer from audit_seal_state() where tree = 'writes'",
    );
    return (rows[0]?.links ?? 0) > 0;
  });
  const { rows } = await pool.query(
    `select s.tree, p.position, v.* from audit_seal_state() s, generate_series(1, s.links) as p(position),
       verify_audit_seal(s.tree, p.position) as v`,
  );
  expect(rows).toEqual([]);
}
