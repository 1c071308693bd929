import type { RequestClient } from "../postgres/requestClient.ts";
import type { Settings } from "../postgres/setLocalStatement.ts";
import type { WithRequestClient } from "../postgres/service.ts";

/** One transaction for all that an operation does in the database. */
export interface OperationTransaction {
  /** Takes the place of the pool's: opens the transaction when it is first called, and works in it. */
  withPgClient: WithRequestClient;
  /** Whether a statement failed that nothing was put around: PostgreSQL then does nothing more in the transaction. */
  isBroken(): boolean;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

const rolledBack = new Error("The operation is taken back");

/**
 * @param settings as they are at the start; what a login changes of them later counts from the next statement
 * @param isolates whether what fails leaves the rest of the transaction unharmed, at the price of savepoints
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
    // A connection that cannot be had fails whoever asks for it.
    ended.catch(client.reject);
    opened = { client: client.promise, ended };
    return opened.client;
  };

  async function run<T>(client: RequestClient, work: (client: RequestClient) => Promise<T>) {
    if (isolates) {
      // One after the other: a savepoint within another's would end with it.
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
      // A connection that broke has rolled back as well.
      await opened?.ended.catch(() => undefined);
    },
  };
}
