import { badUserInput } from "../errors/PublicError.ts";

const operations = ["CREATE", "READ", "UPDATE", "DELETE"];
const limitCap = 200;
const limitDefault = 50;

/** The maximum of `total`, because counting takes time and users do not page through more rows. */
export const maxTotal = 50_000;

/** The input of `auditLogs`. */
export interface Filter {
  actorUserId?: string | null;
  entityType?: string | null;
  entityId?: string | null;
  operation?: string | null;
  correlationId?: string | null;
  from?: string | null;
  to?: string | null;
  limit?: number | null;
  offset?: number | null;
}

/**
 * Validates the input of `auditLogs` and fills defaults; a limit above the maximum becomes the maximum. @throws
 * PublicError
 */
export function readFilter(input: Filter | null | undefined) {
  const filter = input ?? {};
  const refuse = (field: keyof Filter, message: string) => {
    throw badUserInput(`${field} ${message}`, { path: ["input", field] });
  };
  const limit = filter.limit ?? limitDefault;
  const offset = filter.offset ?? 0;
  if (limit < 1) refuse("limit", "must be at least 1");
  if (offset < 0) refuse("offset", "must not be negative");
  if (filter.operation != null && !operations.includes(filter.operation))
    refuse("operation", `must be one of ${operations.join(", ")}`);
  if (filter.from != null && filter.to != null && Date.parse(filter.from) > Date.parse(filter.to))
    refuse("from", "must not be after `to`");
  return { ...filter, limit: Math.min(limit, limitCap), offset };
}
