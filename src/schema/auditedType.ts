import type { PgResource } from "postgraphile/@dataplan/pg";

/** The entity type under which changes of the table are recorded. */
export function auditedType(resource: PgResource): string | null {
  const audit = resource.extensions?.tags?.audit;
  if (typeof audit !== "string" || audit.startsWith("off ")) return null;
  return /^\w+/.exec(audit)?.[0] ?? null;
}
