import { setTimeout } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { ClientBase, Pool } from "pg";
import type { Logger } from "pino";
import { migrateTenant } from "../migration/migrateTenant.ts";
import { readSources, stampOf } from "../migration/sources.ts";
import { type Tenants, parseTestRunId } from "../tenants/tenants.ts";
import { conflict } from "../errors/PublicError.ts";
import type { FileStore } from "../gateways/files.ts";
import { FileStoreError } from "../gateways/files.ts";
import type { SearchEngine } from "../gateways/search.ts";
import { SearchEngineError } from "../gateways/search.ts";
import { removeLeftovers } from "../search/reconcile.ts";

const maxWaitMs = 15_000;

/**
 * Creates and removes the schemas of test runs.
 * @param owner a pool that acts as `office_owner`
 * @param main the main schema; those of test runs are named `<main>_e2e_<run id>`
 * @param also.extraSqlDir the deployment's own SQL, which every tenant gets, too
 * @param also.files the object store, where each tenant's files are below its name
 * @param also.engine the search engine, where each tenant has its own collections; null without one
 */
export function createTenants(
  owner: Pool,
  main: string,
  log: Logger,
  also: { extraSqlDir?: string | undefined; files: FileStore; engine: SearchEngine | null },
): Tenants {
  const { extraSqlDir, files, engine } = also;
  const nameOf = (runId: string) => `${main}_e2e_${parseTestRunId(runId)}`;
  // Concurrent requests share one creation. Whether a tenant exists is read from the database each time, since another
  // server may have removed it.
  const making = new Map<string, Promise<void>>();
  const touched = new LRUCache<string, true>({ max: 1_000, ttl: 60_000 });
  // Read once: changed files take effect with the next process.
  const sources = readSources(extraSqlDir);
  sources.catch(() => undefined);

  /**
   * Whether a tenant exists and comes from the same files as the main schema. Only servers with those files update an
   * older one, not servers of the previous release that run beside them.
   */
  async function isCurrent(tenant: string): Promise<boolean> {
    const { rows } = await owner.query<{ current: boolean }>(
      `select tenant.made is not null and (tenant.made = main.made or main.made is distinct from $3) as current
       from (select ${stampOf("$1")} as made) as tenant,
         (select ${stampOf("$2")} as made) as main`,
      [tenant, main, (await sources).stamp],
    );
    return rows[0]?.current ?? false;
  }

  async function make(tenant: string): Promise<void> {
    const client = await owner.connect();
    try {
      const started = performance.now();
      await migrateTenant(client, tenant, { extraSqlDir });
      if (engine) await client.query(`select "${tenant}".queue_search_indexing(true)`);
      log.info({ tenant, ms: Math.round(performance.now() - started) }, "test tenant created");
    } finally {
      client.release();
    }
  }

  async function inMain<T>(effect: (client: ClientBase) => Promise<T>): Promise<T> {
    const client = await owner.connect();
    try {
      await client.query(`begin; set local search_path to "${main}", extensions, pg_temp`);
      const result = await effect(client);
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback").catch(() => undefined);
      throw error;
    } finally {
      client.release();
    }
  }

  async function touch(tenant: string, runId: string): Promise<void> {
    if (touched.has(tenant)) return;
    touched.set(tenant, true);
    await owner.query("select office_jobs.touch_tenant($1, $2)", [tenant, runId]);
  }

  async function ensure(tenant: string, runId: string): Promise<string> {
    const current = await isCurrent(tenant);
    // Recorded before it is created, and again after another server removed it: an interrupted creation is then cleaned
    // up like any other.
    if (!current) touched.delete(tenant);
    await touch(tenant, runId);
    if (!current) {
      const pending = making.get(tenant) ?? make(tenant).finally(() => making.delete(tenant));
      making.set(tenant, pending);
      await pending;
    }
    return tenant;
  }

  async function exists(tenant: string): Promise<boolean> {
    const { rows } = await owner.query<{ found: boolean }>(
      "select to_regnamespace($1) is not null as found",
      [tenant],
    );
    return rows[0]?.found ?? false;
  }

  return {
    async existing(runId) {
      const tenant = nameOf(runId);
      // A schema that is being created counts: the caller waits for it.
      return making.has(tenant) || (await exists(tenant)) ? ensure(tenant, runId) : null;
    },

    forTestRun: (runId) => ensure(nameOf(runId), runId),

    async remove(runId) {
      const tenant = nameOf(runId);
      touched.delete(tenant);
      // A failed creation leaves nothing to remove.
      await making.get(tenant)?.catch(() => undefined);
      // False while a job of the run is running: wait for it, up to a limit.
      const deadline = Date.now() + maxWaitMs;
      for (;;) {
        const { rows } = await owner.query<{ gone: boolean }>(
          `select "${main}".drop_tenant($1) as gone`,
          [tenant],
        );
        if (rows[0]?.gone) {
          // Files that cannot be removed now are removed by a worker: the main tenant records them.
          await files.removeAll(`${tenant}/`).catch((error: unknown) => {
            if (!(error instanceof FileStoreError)) throw error;
          });
          if (engine)
            await removeLeftovers({ engine, inTenant: inMain }).catch((error: unknown) => {
              if (!(error instanceof SearchEngineError)) throw error;
            });
          return true;
        }
        if (Date.now() > deadline)
          throw conflict("A job of this test run still runs: call again in a moment");
        await setTimeout(50);
      }
    },
  };
}
