import { LRUCache } from "lru-cache";
import type pg from "pg";
import { currentScope } from "../context/requestScope.ts";
import {
  type PreludeStatement,
  type Prelude,
  PipelinedQuery,
  type Statement,
} from "./PipelinedQuery.ts";
import { type Settings, setLocalStatement } from "./setLocalStatement.ts";

/** The rows of a statement. */
export interface Rows<Row> {
  rows: Row[];
  rowCount: number | null;
}

/**
 * Runs statements for one request. Outside of `withTransaction`, each is a transaction with the request's settings in
 * one round trip.
 */
export interface RequestClient {
  query<Row>(statement: Statement): Promise<Rows<Row>>;
  /** Runs `work` in one transaction, rolled back when it throws; a nested one is a savepoint. */
  withTransaction<T>(work: (client: RequestClient) => Promise<T>): Promise<T>;
}

const begin = { name: "office_begin", text: "begin" };

/** Options of a connection. */
export interface ClientOptions {
  /** How many named statements stay prepared on a connection; 0 prepares none. */
  prepared: number;
}

const preparedClients = new WeakSet<pg.ClientBase>();

/** Whether {@link prepareConnection} was done. */
export function isPrepared(client: pg.ClientBase): boolean {
  return preparedClients.has(client);
}

/** Prepares a new connection of the pool for {@link requestClient}. */
export async function prepareConnection(client: pg.ClientBase): Promise<void> {
  if (isPrepared(client)) return;
  // JIT compilation takes longer than statements of milliseconds. Behind a pooler the setting of the role applies.
  await client.query("set jit = off");
  preparedClients.add(client);
}

/**
 * Runs a prelude and statements in one round trip; `prepared` as in {@link ClientOptions}. Named statements of the
 * prelude stay prepared as long as the connection. `onDone` is called when all but the last statement are done.
 */
export function runPipelined<Row>(
  client: pg.ClientBase,
  prelude: Prelude["statements"],
  statements: readonly [...PreludeStatement[], Statement],
  prepared: number,
  onDone?: () => void,
): Promise<Rows<Row>> {
  return new Promise((resolve, reject) => {
    const close: string[] = [];
    const kept = statements.map(({ name, ...rest }) => {
      if (name === undefined || prepared === 0) return rest;
      close.push(...namesToClose(client, name, prepared));
      return { ...rest, name };
    });
    const last = kept.pop();
    if (!last) return;
    const started = performance.now();
    client.query(
      new PipelinedQuery(
        {
          // Behind a pooler the next message may reach a connection without the prepared statement.
          statements: [
            ...(prepared === 0 ? prelude.map(unnamed) : prelude),
            ...(kept as PreludeStatement[]),
          ],
          close,
          ...(onDone && { onDone }),
        },
        last,
        (error, result) => {
          logStatement(last, started, error);
          if (error) reject(error);
          else resolve(result as Rows<Row>);
        },
      ),
    );
  });
}

/** With LOG_LEVEL=debug: the text of each statement of a request and its time, without parameters. */
function logStatement({ text }: Statement, started: number, error: Error | null): void {
  const log = currentScope()?.log;
  if (!log?.isLevelEnabled("debug")) return;
  const ms = Math.round((performance.now() - started) * 100) / 100;
  log.debug({ sql: text, ms, ...(error && { error: error.message }) }, "sql statement run");
}

function unnamed({ text, values }: PreludeStatement): PreludeStatement {
  return { text, values };
}

export function requestClient(
  client: pg.ClientBase,
  settings: Settings,
  options: ClientOptions,
): RequestClient {
  const settled = setLocalStatement(settings, null, options.prepared);
  const run = <Row>(prelude: Prelude["statements"], statement: Statement) =>
    runPipelined<Row>(client, prelude, [statement], options.prepared);

  const inTransaction = (level: number): RequestClient => ({
    query: (statement) => run([], statement),
    async withTransaction(work) {
      const savepoint = `level_${level}`;
      await client.query(`savepoint ${savepoint}`);
      return endTransaction(
        () => work(inTransaction(level + 1)),
        `release savepoint ${savepoint}`,
        `rollback to savepoint ${savepoint}`,
      );
    },
  });

  async function endTransaction<T>(
    work: () => Promise<T>,
    success: string,
    failure: string,
  ): Promise<T> {
    try {
      const result = await work();
      await client.query(success);
      return result;
    } catch (error) {
      // A broken connection cannot roll back; the server does, and the first error is the one to report.
      await client.query(failure).catch(() => undefined);
      throw error;
    }
  }

  return {
    query: (statement) => run([settled], statement),
    async withTransaction(work) {
      return endTransaction(
        async () => {
          await run([{ ...begin, values: [] }], settled);
          return work(inTransaction(1));
        },
        "commit",
        "rollback",
      );
    },
  };
}

const statementCacheOf = new WeakMap<
  pg.ClientBase,
  { kept: LRUCache<string, true>; evicted: string[] }
>();

/** Records the use of a named statement; returns the names to close. */
function namesToClose(client: pg.ClientBase, name: string, most: number): string[] {
  let known = statementCacheOf.get(client);
  if (!known) {
    const evicted: string[] = [];
    const kept = new LRUCache<string, true>({
      max: most,
      dispose: (_value, key, reason) => {
        if (reason === "evict") evicted.push(key);
      },
    });
    known = { kept, evicted };
    statementCacheOf.set(client, known);
  }
  known.kept.set(name, true);
  return known.evicted.splice(0);
}
