import { readFileSync } from "node:fs";
import { constants, getPriority } from "node:os";
import type { ClientBase } from "pg";
import { lowerPriority } from "../process/priority.ts";
import { wireOf } from "./wire.ts";

const done = new WeakSet<ClientBase>();

/**
 * Lowers the priority of the database process behind a connection if this process has a lowered priority and both run on
 * the same machine. To be called at each use of a connection, since the priority may be lowered after connecting.
 */
export function lowerDatabasePriority(client: ClientBase): void {
  if (done.has(client) || getPriority() < constants.priority.PRIORITY_BELOW_NORMAL) return;
  done.add(client);
  const { processID, connection } = wireOf(client);
  const { localPort } = connection.stream;
  if (processID === null || localPort === undefined) return;
  try {
    // On another machine the id belongs to an unrelated process. PostgreSQL's process title names the client's port.
    const title = readFileSync(`/proc/${processID}/cmdline`, "utf8");
    if (title.startsWith("postgres: ") && title.includes(`(${localPort}) `))
      lowerPriority(processID);
  } catch {
    // The process is on another machine or not readable.
  }
}
