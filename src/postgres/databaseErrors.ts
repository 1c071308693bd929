import { DatabaseError } from "pg";

/** Whether an error is what PostgreSQL answered, rather than a failure on the way to it. */
export function isDatabaseError(error: unknown): error is DatabaseError {
  return (
    error instanceof DatabaseError ||
    (error instanceof Error && "severity" in error && "code" in error)
  );
}

const outageCodes = new Set([
  // The server stops, starts, or has become a replica.
  "57P01",
  "57P02",
  "57P03",
  "25006",
  // It ended a connection that it took for forgotten.
  "25P03",
  "57P05",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "EPIPE",
]);
// Connections that fail, and a server without connections, disk or memory left.
const outageClasses = ["08", "53"];

/** Whether an error means that the database cannot be reached, rather than that it refused something. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isOutage);
  const code = "code" in error ? String(error.code) : "";
  return (
    outageCodes.has(code) ||
    (code.length === 5 && outageClasses.some((start) => code.startsWith(start))) ||
    /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
      error.message,
    )
  );
}

/** Whether the database stopped a statement for its time, or for the time that it waited for a lock. */
export function isStopped(error: DatabaseError): boolean {
  return error.code === "57014" || error.code === "55P03";
}

const missing = new Set(["3F000", "42P01", "42883", "42704"]);

/** Whether a schema, or what stood in it, is no longer there. */
export function isMissingSchema(error: DatabaseError): boolean {
  return missing.has(error.code ?? "");
}
