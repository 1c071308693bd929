import type { PgResource } from "postgraphile/@dataplan/pg";
import { isUnique } from "./lookUpKey.ts";

/** The entity type under which changes of the table are recorded. */
export function auditedType(resource: PgResource): string | null {
  const audit = resource.extensions?.tags?.audit;
  if (typeof audit !== "string" || audit.startsWith("off ")) return null;
  return /^\w+/.exec(audit)?.[0] ?? null;
}

/**
 * The column whose values identify the rows in the audit log: that of `@audit`, by default the key. Null when several rows
 * have the same value, such as those of a join table that are recorded as changes of the row that they belong to.
 */
export function auditedKey(resource: PgResource, key: string): string | null {
  const audit = resource.extensions?.tags?.audit;
  const [, column = key] =
    (typeof audit === "string" ? /^\w+\s+(?!except\b)(\w+)/.exec(audit) : null) ?? [];
  return column === key || isUnique(resource, column) ? column : null;
}
