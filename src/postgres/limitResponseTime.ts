import type pg from "pg";
import { isAnswerDue, wireOf } from "./wire.ts";

/** How much longer than a statement may run its answer is waited for, in milliseconds. */
export const answerMarginMs = 2_000;

/** The database gave no answer in its time; the connection is gone. */
class SilentDatabaseError extends Error {
  override name = "SilentDatabaseError";
  readonly code = "ETIMEDOUT";
}

/**
 * Destroys a connection on which an answer is due and nothing comes for `answerMs`, as from a frozen server or after a cut
 * network: whoever waits gets an error, and a pool makes another connection. A timer of the socket itself costs a statement nothing.
 */
export function limitResponseTime(client: pg.ClientBase, answerMs: number): void {
  const wire = wireOf(client);
  const { stream } = wire.connection;
  stream.setTimeout(answerMs);
  // A closed connection owes nothing but its end, which a frozen server never sends.
  stream.once("finish", () => stream.setTimeout(Math.min(answerMs, answerMarginMs)));
  stream.on("timeout", () => {
    if (stream.writableFinished) {
      stream.destroy();
      return;
    }
    const { bytesRead } = stream;
    // An answer that came while this process was busy or stopped is read first.
    setImmediate(() => {
      if (stream.bytesRead !== bytesRead || !isAnswerDue(wire)) return;
      stream.destroy(new SilentDatabaseError(`The database gave no answer for ${answerMs} ms`));
    });
  });
}
