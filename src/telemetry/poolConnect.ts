import { AsyncResource } from "node:async_hooks";
import type { Pool, PoolClient } from "pg";

type Callback = (error?: Error, client?: PoolClient) => void;
type Connect = (callback?: Callback) => unknown;

/** Calls `observe` with the time until each connection was available, in milliseconds. */
export function measureConnect(pool: Pool, observe: (waitMs: number) => void): void {
  replaceConnect(pool, (connect, callback) => {
    const started = performance.now();
    const note = () => observe(performance.now() - started);
    if (callback === undefined) return (connect() as Promise<PoolClient>).finally(note);
    return connect((...args) => {
      note();
      callback(...args);
    });
  });
}

/**
 * Runs each callback in the async context of the request that waits for the connection. Without it, the callback runs in
 * the context of the request that releases the connection.
 */
export function keepContextOnConnect(pool: Pool): void {
  replaceConnect(pool, (connect, callback) =>
    callback === undefined ? connect() : connect(AsyncResource.bind(callback)),
  );
}

/** Replaces `pool.connect`. `pool.query` passes a callback, all other callers use the promise. */
function replaceConnect(
  pool: Pool,
  around: (connect: Connect, callback: Callback | undefined) => unknown,
): void {
  const connect = pool.connect.bind(pool) as Connect;
  pool.connect = ((callback?: Callback) => around(connect, callback)) as Pool["connect"];
}
