import type pg from "pg";
import { isResponsePending, wireOf } from "./wire.ts";

/** How much longer than the statement time-out a response may take, in milliseconds. */
export const responseMarginMs = 2_000;

/** The database did not respond in time; the connection was destroyed. */
class SilentDatabaseError extends Error {
  override name = "SilentDatabaseError";
  readonly code = "ETIMEDOUT";
}

/**
 * Destroys a connection that sends nothing for `responseTimeoutMs` while a response is due, as after a network failure. Waiting
 * callers get an error and the pool opens another connection. The socket's own timer costs no time per statement.
 */
export function limitResponseTime(client: pg.ClientBase, responseTimeoutMs: number): void {
  const wire = wireOf(client);
  const { stream } = wire.connection;
  stream.setTimeout(responseTimeoutMs);
  // A frozen server never acknowledges the end of a closed connection.
  stream.once("finish", () => stream.setTimeout(Math.min(responseTimeoutMs, responseMarginMs)));
  stream.on("timeout", () => {
    if (stream.writableFinished) {
      stream.destroy();
      return;
    }
    const { bytesRead } = stream;
    // A response that arrived while this process was busy is read first.
    setImmediate(() => {
      if (stream.bytesRead !== bytesRead || !isResponsePending(wire)) return;
      stream.destroy(
        new SilentDatabaseError(`The database gave no answer for ${responseTimeoutMs} ms`),
      );
    });
  });
}
