import type { RequestClient } from "../postgres/requestClient.ts";
import type { Settings } from "../postgres/setLocalStatement.ts";
import type { WithRequestClient } from "../postgres/service.ts";

/** One transaction for all database work of an operation. */
export interface OperationTransaction {
  /** Replaces the pool's function: opens the transaction at its first call. */
  withPgClient: WithRequestClient;
  /** Whether a statement failed outside of a savepoint, which makes PostgreSQL reject all further ones. */
  isBroken(): boolean;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

const rolledBack = new Error("The operation is taken back");

/**
 * @param settings the settings at the start; a login's changes apply from the next statement
 * @param isolates whether each statement gets a savepoint, so that its failure leaves the others intact
 */
export function makeOperationTransaction(
  withPgClient: WithRequestClient,
  settings: Settings,
  isolates: boolean,
): OperationTransaction {
  const finished = Promise.withResolvers<undefined>();
  let opened: { client: Promise<RequestClient>; ended: Promise<undefined> } | null = null;
  let applied = settings;
  let last: Promise<unknown> = Promise.resolve();
  let broken = false;

  const open = () => {
    if (opened) return opened.client;
    const client = Promise.withResolvers<RequestClient>();
    const ended = withPgClient(applied, (outer) =>
      outer.withTransaction((inner) => {
        client.resolve(inner);
        return finished.promise;
      }),
    );
    // An error while connecting is the error of each waiting caller.
    ended.catch(client.reject);
    opened = { client: client.promise, ended };
    return opened.client;
  };

  async function run<T>(client: RequestClient, work: (client: RequestClient) => Promise<T>) {
    if (isolates) {
      // Serial: a savepoint within another one would end with it.
      const result = last.then(() => client.withTransaction(work));
      last = result.catch(() => undefined);
      return result;
    }
    try {
      return await work(client);
    } catch (error) {
      broken = true;
      throw error;
    }
  }

  return {
    async withPgClient(given, work) {
      const client = await open();
      const changed = Object.entries(given ?? {}).filter(
        ([name, value]) => applied[name] !== value,
      );
      if (changed.length > 0) {
        applied = { ...applied, ...Object.fromEntries(changed) };
        await client.query({
          text: "select set_config(s ->> 0, s ->> 1, true) from json_array_elements($1::json) as s",
          values: [JSON.stringify(changed)],
        });
      }
      return work({
        query: (statement) => run(client, (inner) => inner.query(statement)),
        withTransaction: (inside) => run(client, inside),
      });
    },
    isBroken: () => broken,
    async commit() {
      finished.resolve(undefined);
      await opened?.ended;
    },
    async rollback() {
      finished.promise.catch(() => undefined);
      finished.reject(rolledBack);
      // PostgreSQL has rolled back a broken connection.
      await opened?.ended.catch(() => undefined);
    },
  };
}
