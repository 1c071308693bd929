import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { ClientBase } from "pg";

/** The fields of a `pg` client that its published types leave out (docs/internals.md). */
interface Wire {
  /** The process of the database that serves the connection; null before it is open. */
  processID: number | null;
  /** False while a query runs. */
  readyForQuery: boolean;
  /** With the setting `pipeline`: queries that are sent and wait behind the running one. */
  _sentQueryQueue: readonly unknown[];
  /** Emits `errorMessage` for each error message of the database. */
  connection: EventEmitter & { stream: Socket };
}

/** A client's connection, below `pg`'s interface. */
export function wireOf(client: ClientBase): Wire {
  return client as ClientBase & Wire;
}

/** Whether a query has not been answered yet. */
export function isResponsePending({ readyForQuery, _sentQueryQueue }: Wire): boolean {
  return !readyForQuery || _sentQueryQueue.length > 0;
}
