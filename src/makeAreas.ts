import { setTimeout } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { ClientBase, Pool } from "pg";
import { migrateArea } from "../db/migrateArea.ts";
import { readSources } from "../db/sources.ts";
import { type Areas, parseRunId } from "./areas.ts";
import { OfficeError } from "./errors.ts";
import type { FileStore } from "./gateways/files.ts";
import { FileStoreError } from "./gateways/files.ts";
import type { SearchEngine } from "./gateways/search.ts";
import { SearchEngineError } from "./gateways/search.ts";
import { removeLeftovers } from "./search/lookAround.ts";

const patienceMs = 15_000;

/**
 * Makes the schemas of test runs, and removes them.
 * @param owner a pool that acts as `office_owner`
 * @param main the main schema; those of test runs are named `<main>_e2e_<run id>`
 * @param also.ownFolder the deployment's own SQL, from which all areas are made, too
 * @param also.files the store, where each area's files stand below its name
 * @param also.engine the search engine, where each area has collections of its own; null where there is none
 */
export function makeAreas(
  owner: Pool,
  main: string,
  log: (line: string) => void,
  also: { ownFolder?: string | undefined; files: FileStore; engine: SearchEngine | null },
): Areas {
  const { ownFolder, files, engine } = also;
  const nameOf = (runId: string) => `${main}_e2e_${parseRunId(runId)}`;
  // Requests that come at once share one making. What is made is asked of the database each time, since another server may
  // have removed it; test runs can afford the look-up.
  const making = new Map<string, Promise<void>>();
  const touched = new LRUCache<string, true>({ max: 1_000, ttl: 60_000 });
  // As of now: files that change later are the next process's.
  const sources = readSources(ownFolder);
  sources.catch(() => undefined);

  /**
   * Whether an area is there and made of the same files as the main schema. One that is older is brought up to date by the
   * servers that know those files, not by those of the release before, which may still run beside them.
   */
  async function isCurrent(area: string): Promise<boolean> {
    const { rows } = await owner.query<{ current: boolean }>(
      `select area.made is not null and (area.made = main.made or main.made is distinct from $3) as current
       from (select obj_description(to_regnamespace($1), 'pg_namespace') as made) as area,
         (select obj_description(to_regnamespace($2), 'pg_namespace') as made) as main`,
      [area, main, (await sources).stamp],
    );
    return rows[0]?.current ?? false;
  }

  async function make(area: string): Promise<void> {
    const client = await owner.connect();
    try {
      const started = performance.now();
      await migrateArea(client, area, { ownFolder });
      if (engine) await client.query(`select "${area}".wake_search(true)`);
      log(`test area ${area} made in ${Math.round(performance.now() - started)} ms`);
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

  async function touch(area: string, runId: string): Promise<void> {
    if (touched.has(area)) return;
    touched.set(area, true);
    await owner.query("select office_jobs.touch_area($1, $2)", [area, runId]);
  }

  async function ensure(area: string, runId: string): Promise<string> {
    const current = await isCurrent(area);
    // Recorded before it is made, anew if another server has removed it: one whose making was cut off is swept like any
    // other.
    if (!current) touched.delete(area);
    await touch(area, runId);
    if (!current) {
      const pending = making.get(area) ?? make(area).finally(() => making.delete(area));
      making.set(area, pending);
      await pending;
    }
    return area;
  }

  async function exists(area: string): Promise<boolean> {
    const { rows } = await owner.query<{ found: boolean }>(
      "select to_regnamespace($1) is not null as found",
      [area],
    );
    return rows[0]?.found ?? false;
  }

  return {
    async existing(runId) {
      const area = nameOf(runId);
      // A schema that is being created counts: the caller waits for it.
      return making.has(area) || (await exists(area)) ? ensure(area, runId) : null;
    },

    forTestRun: (runId) => ensure(nameOf(runId), runId),

    async remove(runId) {
      const area = nameOf(runId);
      touched.delete(area);
      // A making that fails has nothing to be removed.
      await making.get(area)?.catch(() => undefined);
      // False while a job of the run is at work: it is waited for, within bounds.
      const deadline = Date.now() + patienceMs;
      for (;;) {
        const { rows } = await owner.query<{ gone: boolean }>(
          `select "${main}".drop_area($1) as gone`,
          [area],
        );
        if (rows[0]?.gone) {
          // What cannot be removed now is removed by a worker: the main area's ledger knows of it.
          await files.removeAll(`${area}/`).catch((error: unknown) => {
            if (!(error instanceof FileStoreError)) throw error;
          });
          if (engine)
            await removeLeftovers({ engine, withArea: inMain }).catch((error: unknown) => {
              if (!(error instanceof SearchEngineError)) throw error;
            });
          return true;
        }
        if (Date.now() > deadline)
          throw new OfficeError(
            "CONFLICT",
            "A job of this test run is still at work: call again in a moment",
          );
        await setTimeout(50);
      }
    },
  };
}
