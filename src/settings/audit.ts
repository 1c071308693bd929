import type { GetSetting } from "./types.ts";
import { integer } from "./types.ts";

export const auditSettings = {
  AUDIT_WRITE_RETENTION_DAYS: {
    schema: integer(31, 36_500),
    fallback: "400",
    meaning: "days after which audit rows of changes are deleted",
  },
  AUDIT_READ_RETENTION_DAYS: {
    schema: integer(31, 36_500),
    fallback: "90",
    meaning: "days after which audit rows of reads are deleted",
  },
} as const;

export function auditConfig(get: GetSetting<typeof auditSettings>) {
  return {
    writeDays: get("AUDIT_WRITE_RETENTION_DAYS"),
    readDays: get("AUDIT_READ_RETENTION_DAYS"),
  };
}
