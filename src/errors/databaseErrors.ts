import { DatabaseError } from "pg";
import { diskFullAt, isNoSpace } from "../health/diskFull.ts";

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

/** Whether PostgreSQL says that its disk is full. The text tells where it has no code for it, as of a quota. */
export function isDiskFull(error: { code?: string | undefined; message?: string }): boolean {
  return (
    error.code === "53100" || isNoSpace(error) || /could not extend file/.test(error.message ?? "")
  );
}

/** Whether an error means that the database cannot be reached or has no resources left, rather than that it refused something. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isOutage);
  const code = "code" in error ? String(error.code) : "";
  return (
    outageCodes.has(code) ||
    (code.length === 5 && outageClasses.some((start) => code.startsWith(start))) ||
    (isDatabaseError(error) && isDiskFull(error)) ||
    /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
      error.message,
    )
  );
}

/** Whether a statement lost against concurrent changes, so that the same transaction can succeed when it runs again. */
export function isCollision(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === "40001" || error.code === "40P01");
}

/** Whether a prepared statement no longer fits the schema, as after a migration. */
export function isStalePlan(error: DatabaseError): boolean {
  return (
    error.code === "26000" || (error.code === "0A000" && error.message.startsWith("cached plan"))
  );
}

/** What an outage is, for the log. */
interface Outage {
  event: "database disk full" | "database resources exhausted" | "database unreachable";
  fields: { err: unknown; diskFullAt?: Date };
}

/**
 * How to log an outage. A database that found no room for its log ends, and its clients see broken connections only: then the line
 * says when its disk was full.
 */
export function describeOutage(error: unknown): Outage {
  const fields = { err: error };
  if (isDatabaseError(error)) {
    if (isDiskFull(error)) return { event: "database disk full", fields };
    if (error.code?.startsWith("53")) return { event: "database resources exhausted", fields };
  }
  const at = diskFullAt("database");
  return { event: "database unreachable", fields: at ? { ...fields, diskFullAt: at } : fields };
}

/** An outage in one sentence, for a terminal. `database` names which one. */
export function outageText(database: string, error: unknown): string {
  const isFull = describeOutage(error).event === "database disk full";
  return `${database} ${isFull ? "has no room left" : "cannot be reached"}: ${String(error)}`;
}

const missing = new Set(["3F000", "42P01", "42883", "42704"]);

/** Whether a schema, or what stood in it, is no longer there. */
export function isMissingSchema(error: DatabaseError): boolean {
  return missing.has(error.code ?? "");
}
