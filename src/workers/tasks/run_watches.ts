import type pg from "pg";
import { z } from "zod";
import { isDatabaseError } from "../../errors/databaseErrors.ts";
import { maxWatchedRows } from "../../query/watchLimit.ts";
import { type JobContext, defineTask } from "../queue/defineTask.ts";
import type { JobPrincipal } from "../queue/queryAsPrincipal.ts";

/** Changed rows in one step. */
const batchSize = 1_000;
/** Due watches in one step. */
const dueSize = 200;
/** A job has two connections. */
const ownersAtOnce = 2;
const maxReason = 300;

interface Watch {
  id: string;
  userId: string;
  permissions: string[];
  tableName: string;
  statement: string;
  values: unknown[];
  /** Selects the ids and names of those rows among `$1` that the owner can read. */
  seenStatement: string;
  /** The index of the parameter for the ids of changed rows; null selects all rows. */
  idsAt: number;
  /** Whether the database holds the rows that matched before. */
  isReady: boolean;
  /** Whether to evaluate all rows, not only the changed ones. */
  isWhole: boolean;
  /** Whether this is the evaluation of all rows after the transactions that ran while the watch was saved. */
  settles: boolean;
  /** Whether the names of rows that stop matching are needed. */
  needsNames: boolean;
  version: string;
}

interface DueWatch extends Omit<Watch, "isWhole" | "settles"> {
  rowIds: string[];
}

interface Batch {
  /** An entry without an id stands for changed rows of a table that a search reads through relations. */
  changes: { id: string; table_name: string; row_id: string | null }[];
  watches: Watch[];
  /** Whether watches were marked whose rows are all evaluated in the next batch. */
  isMarked: boolean;
  /** Whether the batch is full and does not hold all changes. */
  hasMore: boolean;
}

/** An id and a name. */
type Row = [id: string, name?: string | null];

type Result = Pick<Watch, "id" | "isReady" | "isWhole" | "settles" | "version"> &
  ({ matches: Row[] } | { problem: string });

/**
 * Evaluates the search watches of changed tables with the permissions of their owners, and notifies the owners of due
 * watches. One transaction records the events and removes the changes from the outbox.
 */
export const runWatches = defineTask(z.strictObject({}), async (context) => {
  const { inTenant, log } = context;
  for (let isFirst = true; ; isFirst = false) {
    context.signal.throwIfAborted();
    const { rows } = await inTenant((client) =>
      client.query<{ batch: Batch }>("select next_watch_changes($1, $2) as batch", [
        batchSize,
        isFirst,
      ]),
    );
    const [{ batch }] = rows as [{ batch: Batch }];
    const { changes, watches, isMarked, hasMore } = batch;
    if (changes.length > 0 || watches.length > 0) {
      const { results, seen } = await evaluate(context, changes, watches);
      await inTenant((client) =>
        client.query("select record_watch_results($1, $2, $3)", [
          JSON.stringify(changes),
          JSON.stringify(results),
          JSON.stringify(seen),
        ]),
      );
      log.info({ changes: changes.length, watches: watches.length }, "search watches compared");
    }
    if (!hasMore && !isMarked && watches.every(({ isWhole }) => !isWhole)) break;
  }
  await notifyOwners(context);
});

type Context = JobContext<object>;

/** The matching rows of each watch among the changed rows, and the names of changed rows by owner and table. */
async function evaluate(
  context: Context,
  changes: Batch["changes"],
  watches: readonly Watch[],
): Promise<{ results: Result[]; seen: Record<string, Record<string, string>> }> {
  const { queryAsPrincipal, signal, log } = context;
  const changed = Map.groupBy(changes, ({ table_name }) => table_name);
  const idsOf = (table: string) => [
    ...new Set(changed.get(table)?.flatMap(({ row_id }) => row_id ?? []) ?? []),
  ];
  const results: Result[] = [];
  const seen: Record<string, Record<string, string>> = {};
  async function evaluateOwner(userId: string, own: readonly Watch[]): Promise<void> {
    const principal = principalOf((own as [Watch])[0]);
    const evaluateWatches = (some: readonly Watch[]) =>
      queryAsPrincipal(principal, async (client) => {
        const found: Result[] = [];
        for (const watch of some) found.push(await resultOf(client, watch, idsOf));
        return found;
      });
    try {
      results.push(...(await evaluateWatches(own)));
    } catch (error) {
      if (signal.aborted || !isFaultOf(error, faultsOfSearch)) throw error;
      // Runs each search separately to find the failing one, such as a search on a dropped column.
      for (const watch of own)
        try {
          results.push(...(await evaluateWatches([watch])));
        } catch (failure) {
          if (signal.aborted || !isFaultOf(failure, faultsOfSearch)) throw failure;
          results.push({ ...known(watch), problem: `The search failed: ${reasonOf(failure)}` });
          log.warn({ watchId: watch.id, err: failure }, "search watch paused: its search failed");
        }
    }
    const named = own.filter(({ needsNames, isReady }) => needsNames && isReady);
    for (const [table, some] of Map.groupBy(named, tableOf) as Map<string, [Watch, ...Watch[]]>) {
      const ids = new Set(idsOf(table));
      for (const watch of some.filter(({ isWhole }) => isWhole))
        for (const id of await rowsNotMatching(context, watch, results)) ids.add(id);
      // The statement of the newest watch uses the table's current label.
      const rows = await seenRows(context, some.at(-1) ?? some[0], [...ids]);
      seen[`${userId}.${table}`] = Object.fromEntries(rows.map(([id, name]) => [id, name ?? id]));
    }
  }

  const owners = Map.groupBy(watches, (watch) => watch.userId).entries();
  const work = async () => {
    for (const [userId, own] of owners) await evaluateOwner(userId, own);
  };
  // Waits for all evaluations, so that none continues after the job has failed.
  const ended = await Promise.allSettled(Array.from({ length: ownersAtOnce }, work));
  for (const end of ended) if (end.status === "rejected") throw end.reason;
  return { results, seen };
}

/** Rows are checked again at delivery: the owner may have lost a permission since the event. */
async function notifyOwners(context: Context): Promise<void> {
  for (;;) {
    context.signal.throwIfAborted();
    const { rows } = await context.inTenant((client) =>
      client.query<{ watches: DueWatch[] }>("select due_watches($1) as watches", [dueSize]),
    );
    const [{ watches }] = rows as [{ watches: DueWatch[] }];
    const checked: Record<string, Record<string, boolean>> = {};
    const together = Map.groupBy(
      watches,
      ({ userId, seenStatement }) => `${userId} ${seenStatement}`,
    );
    for (const some of together.values() as Iterable<[DueWatch, ...DueWatch[]]>) {
      const ids = new Set(some.flatMap(({ rowIds }) => rowIds));
      const visible = new Set((await seenRows(context, some[0], [...ids])).map(([id]) => id));
      for (const { id: watchId, rowIds } of some)
        checked[watchId] = Object.fromEntries(rowIds.map((id) => [id, visible.has(id)]));
    }
    await context.inTenant((client) =>
      client.query("select notify_watch_owners($1)", [JSON.stringify(checked)]),
    );
    if (watches.length < dueSize) break;
  }
}

/** The ids of the rows of a watch that matched at its last evaluation and do not match now. */
async function rowsNotMatching(
  { inTenant }: Context,
  { id }: Watch,
  results: readonly Result[],
): Promise<string[]> {
  const result = results.find((one) => one.id === id);
  if (!result || "problem" in result) return [];
  const { rows } = await inTenant((client) =>
    client.query<{ id: string }>("select rows_not_matching($1, $2) as id", [
      id,
      result.matches.map(([row]) => row),
    ]),
  );
  return rows.map((row) => row.id);
}

/** The rows that the owner of a watch can read; none where the table no longer has them or its label. */
async function seenRows(
  { queryAsPrincipal, signal, log }: Context,
  watch: Omit<Watch, "isWhole" | "settles">,
  ids: readonly string[],
): Promise<Row[]> {
  try {
    return await queryAsPrincipal(principalOf(watch), async (client) => {
      const { rows } = await client.query<Row>({
        text: watch.seenStatement,
        values: [ids],
        rowMode: "array",
      });
      return rows;
    });
  } catch (error) {
    if (signal.aborted || !isFaultOf(error, /^42/)) throw error;
    log.warn({ watchId: watch.id, err: error }, "names of watched rows not read");
    return [];
  }
}

/** Other errors, such as outages, lock timeouts and a shutdown, cause a retry of the job. */
function isFaultOf(error: unknown, codes: RegExp): boolean {
  return isDatabaseError(error) && codes.test(error.code ?? "");
}
/** Invalid data, invalid names, too complex, and longer than the statement timeout of the worker. */
const faultsOfSearch = /^(?:22|42|54|57014)/;

const principalOf = ({
  userId,
  permissions,
}: Pick<Watch, "userId" | "permissions">): JobPrincipal => ({
  userId,
  permissions,
  tokenId: null,
  scoped: false,
});
const tableOf = ({ tableName }: Watch) => tableName;
const known = ({ id, isReady, isWhole, settles, version }: Watch) => ({
  id,
  isReady,
  isWhole,
  settles,
  version,
});

async function resultOf(
  client: pg.ClientBase,
  watch: Watch,
  idsOf: (table: string) => string[],
): Promise<Result> {
  const { statement, values, idsAt, isReady, isWhole, tableName } = watch;
  const { rows } = await client.query<Row>({
    text: statement,
    values: values.map((value, index) =>
      index === idsAt ? (isWhole ? null : idsOf(tableName)) : value,
    ),
    rowMode: "array",
  });
  if (isWhole && rows.length > maxWatchedRows)
    return { ...known(watch), problem: `The search matches more than ${maxWatchedRows} rows` };
  return { ...known(watch), matches: isReady ? rows : rows.map(([id]) => [id]) };
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, maxReason);
}
