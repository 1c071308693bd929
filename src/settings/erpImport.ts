import { z } from "zod";
import type { Get } from "./types.ts";
import { whole } from "./types.ts";

const timeZone = z
  .string()
  .refine(
    (name) => Intl.supportedValuesOf("timeZone").includes(name) || name === "UTC",
    "must be a time zone such as Europe/Copenhagen",
  );

/** When and how orders are imported from the ERP. */
export const erpImportSettings = {
  ERP_IMPORT_MINUTES: {
    schema: whole(1, 1_440),
    fallback: "5",
    meaning: "an import of what changed in the ERP begins every so many minutes",
  },
  ERP_TIME_ZONE: {
    schema: timeZone,
    fallback: "UTC",
    meaning:
      "the merchant's time zone: of the nightly run at 02:30, and of the days on which orders are placed",
  },
} as const;

export function erpImportConfig(get: Get<typeof erpImportSettings>) {
  return { minutes: get("ERP_IMPORT_MINUTES"), timeZone: get("ERP_TIME_ZONE") };
}
