import { DatabaseError } from "pg";
import { diskFullAt, isNoSpace } from "../health/diskFull.ts";

/** Whether PostgreSQL reported the error, as opposed to a failed connection. */
export function isDatabaseError(error: unknown): error is DatabaseError {
  return (
    error instanceof DatabaseError ||
    (error instanceof Error && "severity" in error && "code" in error)
  );
}

/** The database does not let this login in: its name, its password, `pg_hba.conf`, or the name of the database. */
const refusedLoginCodes = new Set(["28000", "28P01", "3D000"]);

const outageCodes = new Set([
  ...refusedLoginCodes,
  // The server shuts down, starts, or has become a replica.
  "57P01",
  "57P02",
  "57P03",
  "25006",
  // The server ended an idle connection.
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
// Connection failures; and a server without connections, disk space or memory.
const outageClasses = ["08", "53"];

/**
 * Whether the database's disk is full. Some causes, such as a quota, have no SQLSTATE and are known by their text only.
 */
export function isDiskFull(error: { code?: string | undefined; message?: string }): boolean {
  return (
    error.code === "53100" || isNoSpace(error) || /could not extend file/.test(error.message ?? "")
  );
}

/** Whether the database is unreachable or out of resources, as opposed to rejecting a statement. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isOutage);
  const code = "code" in error ? String(error.code) : "";
  return (
    outageCodes.has(code) ||
    (code.length === 5 && outageClasses.some((start) => code.startsWith(start))) ||
    (isDatabaseError(error) && isDiskFull(error)) ||
    isMissingPassword(error) ||
    mayNotConnect(error) ||
    /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|The server does not support SSL)/.test(
      error.message,
    )
  );
}

/** Whether the database is there and refuses the login, which no waiting mends. */
export function isRefusedLogin(error: unknown): boolean {
  return (
    error instanceof Error &&
    (("code" in error && refusedLoginCodes.has(String(error.code))) ||
      isMissingPassword(error) ||
      mayNotConnect(error))
  );
}

/** Whether the login has no right to connect to the database. The same code of a statement does not end the connection. */
function mayNotConnect(error: Error): boolean {
  const { code, severity } = error as { code?: string; severity?: string };
  return code === "42501" && severity === "FATAL";
}

/** Whether the database asked for a password and the address has none. */
function isMissingPassword({ message }: Error): boolean {
  return message.startsWith("SASL: ");
}

/** Whether a statement lost against concurrent changes, so that the same transaction can succeed when it runs again. */
export function isCollision(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === "40001" || error.code === "40P01");
}

/** Unique, exclusion and check constraints, restricted deletions, and policies. */
const statesOfRow = ["23505", "23P01", "23514", "23001", "42501"];

/** Whether a rule rejected one row, rather than a value that is wrong in every row. */
export function isRejectedRow(error: unknown): error is DatabaseError {
  if (!isDatabaseError(error)) return false;
  const { code = "", detail = "" } = error;
  return (
    statesOfRow.includes(code) ||
    (code === "23503" && detail.includes("is still referenced")) ||
    // Raised by our SQL functions and triggers.
    code.startsWith("OF4")
  );
}

/** Whether a SQL-JSON statement met null where the schema promises a value (`missing_row` in db/logic/00_session.sql). */
export function isMissingValue(error: DatabaseError): boolean {
  return error.code === "OFR03";
}

/** Whether a prepared statement no longer fits the schema, as after a migration. */
export function isStalePlan(error: DatabaseError): boolean {
  return (
    error.code === "26000" || (error.code === "0A000" && error.message.startsWith("cached plan"))
  );
}

/** An outage in the log. */
interface Outage {
  event:
    | "database disk full"
    | "database login refused"
    | "database resources exhausted"
    | "database unreachable";
  fields: { err: unknown; diskFullAt?: Date };
}

/**
 * The log fields of an outage. A database without space for its write-ahead log stops, and clients see only broken
 * connections; the fields then show when the disk was full.
 */
export function describeOutage(error: unknown): Outage {
  const fields = { err: error };
  if (isRefusedLogin(error)) return { event: "database login refused", fields };
  if (isDatabaseError(error)) {
    if (isDiskFull(error)) return { event: "database disk full", fields };
    if (error.code?.startsWith("53")) return { event: "database resources exhausted", fields };
  }
  const at = diskFullAt("database");
  return { event: "database unreachable", fields: at ? { ...fields, diskFullAt: at } : fields };
}

/** An outage and what to do, for a terminal; `database` names the database. */
export function outageText(database: string, error: unknown): string {
  const { event } = describeOutage(error);
  const reason = messageOf(error);
  if (event === "database disk full") return `${database} has no disk space left: ${reason}`;
  const state = event === "database login refused" ? "refuses the login" : "cannot be reached";
  return `${database} ${state}: ${reason}\n${connectionAdvice(error)}`;
}

/** Node reports the failures of several addresses of one host together, without a message. */
export function messageOf(error: unknown): string {
  const causes: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return causes.map((cause) => (cause instanceof Error ? cause.message : String(cause))).join(", ");
}

/**
 * How to get a connection that failed.
 * @param role the role that the connection was to act as
 */
export function connectionAdvice(error: unknown, role?: string): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "3D000") return "Create the database, then run `npm run db:migrate`";
  if (code === "28000")
    return "Check the login's name, and whether pg_hba.conf accepts it from this machine; `npm run db:migrate` creates office_server and office_worker";
  if (error instanceof Error && mayNotConnect(error))
    return "Run `npm run db:migrate`, which grants the right to connect, or `grant connect on database <name> to <role>`";
  if (isRefusedLogin(error))
    return "Check the user and the password in the address. The passwords of office_server and office_worker are set by `npm run db:migrate`, which takes an owner or administrator of your own";
  if (role !== undefined && (code === "42501" || code === "22023"))
    return `The login may not act as ${role}: log in as ${role}, or \`grant ${role} to <login> with set true\``;
  return "Check host and port, and whether PostgreSQL runs and accepts this machine (pg_hba.conf)";
}

const missing = new Set(["3F000", "42P01", "42883", "42704"]);

/** Whether a schema, or an object in it, no longer exists. */
export function isMissingSchema(error: DatabaseError): boolean {
  return missing.has(error.code ?? "");
}
