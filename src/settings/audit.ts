import type { Get } from "./types.ts";
import { whole } from "./types.ts";

export const auditSettings = {
  AUDIT_WRITE_DAYS: {
    schema: whole(31, 36_500),
    fallback: "400",
    meaning: "days that audit rows of changes are kept",
  },
  AUDIT_READ_DAYS: {
    schema: whole(31, 36_500),
    fallback: "90",
    meaning: "days that audit rows of reads are kept",
  },
} as const;

export function auditConfig(get: Get<typeof auditSettings>) {
  return { writeDays: get("AUDIT_WRITE_DAYS"), readDays: get("AUDIT_READ_DAYS") };
}
