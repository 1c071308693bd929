import type pg from "pg";
import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

/** Changed rows in one step. */
const batchSize = 1_000;
const maxReason = 300;

interface Watch {
  id: string;
  userId: string;
  permissions: string[];
  tableName: string;
  statement: string;
  values: unknown[];
  /** Finds the ids and names of rows among `$1`. */
  seenStatement: string;
  /** Which parameter takes the ids of the changed rows; null there looks at all rows. */
  idsAt: number;
  isReady: boolean;
  version: string;
}

interface Batch {
  changes: { id: string; table_name: string; row_id: string }[];
  watches: Watch[];
}

/** An id and a name. */
type Row = [string, string | null];

type Result = Pick<Watch, "id" | "isReady" | "version"> &
  ({ matches: Row[] } | { problem: string });

/**
 * Evaluates the search watches of changed tables with the permissions of their owners, and notifies the owners of due
 * watches. One transaction records the events and removes the changes from the queue.
 */
export const runWatches = defineTask(
  z.strictObject({}),
  async ({ inTenant, queryAsPrincipal, signal, log }) => {
    for (;;) {
      signal.throwIfAborted();
      const { rows } = await inTenant((client) =>
        client.query<{ batch: Batch }>("select next_watched_changes($1) as batch", [batchSize]),
      );
      const { changes = [], watches = [] } = rows[0]?.batch ?? {};
      if (changes.length === 0 && watches.length === 0) break;
      const changed = Map.groupBy(changes, ({ table_name }) => table_name);
      const idsOf = (table: string) => changed.get(table)?.map(({ row_id }) => row_id) ?? [];
      const results: Result[] = [];
      const seen: Record<string, Row[]> = {};
      for (const [userId, own] of Map.groupBy(watches, (watch) => watch.userId)) {
        const [{ permissions }] = own as [Watch];
        const principal = { userId, permissions, tokenId: null, scoped: false };
        const look = (asked: readonly Watch[]) =>
          queryAsPrincipal(principal, async (client) => {
            for (const watch of asked)
              results.push({ ...known(watch), matches: await matchesOf(client, watch, idsOf) });
          });
        // Without names, rows that stop matching cause no event.
        for (const [table, [{ seenStatement }]] of Map.groupBy(own, tableOf) as Map<
          string,
          [Watch]
        >)
          seen[`${userId}.${table}`] = await queryAsPrincipal(principal, async (client) => {
            const { rows: names } = await client.query<Row>({
              text: seenStatement,
              values: [idsOf(table)],
              rowMode: "array",
            });
            return names;
          }).catch((error: unknown) => {
            log.warn({ table, err: error }, "names of watched rows not read");
            return [];
          });
        const before = results.length;
        await look(own).catch(async () => {
          // Runs each search separately to find the failing one, such as a search on a dropped column.
          results.length = before;
          for (const watch of own)
            await look([watch]).catch((error: unknown) => {
              if (signal.aborted) throw error;
              results.push({ ...known(watch), problem: `The search failed: ${reasonOf(error)}` });
              log.warn({ watchId: watch.id, err: error }, "search watch paused: its search failed");
            });
        });
      }
      await inTenant((client) =>
        client.query("select record_watched_changes($1, $2, $3)", [
          JSON.stringify(changes),
          JSON.stringify(results),
          JSON.stringify(seen),
        ]),
      );
      log.info({ changes: changes.length, watches: watches.length }, "search watches compared");
      if (changes.length < batchSize) break;
    }
    await inTenant((client) => client.query("select notify_watch_owners()"));
  },
);

const tableOf = ({ tableName }: Watch) => tableName;
const known = ({ id, isReady, version }: Watch) => ({ id, isReady, version });

async function matchesOf(
  client: pg.ClientBase,
  { statement, values, idsAt, isReady, tableName }: Watch,
  idsOf: (table: string) => string[],
): Promise<Row[]> {
  const { rows } = await client.query<Row>({
    text: statement,
    values: values.map((value, index) =>
      index === idsAt ? (isReady ? idsOf(tableName) : null) : value,
    ),
    rowMode: "array",
  });
  return rows;
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, maxReason);
}
