import { z } from "zod";
import type { GetSetting } from "./types.ts";
import { integer } from "./types.ts";

const timeZone = z
  .string()
  .refine(
    (name) => Intl.supportedValuesOf("timeZone").includes(name) || name === "UTC",
    "must be a time zone such as Europe/Copenhagen",
  );

/** When orders are imported from the ERP. */
export const erpImportSettings = {
  ERP_IMPORT_INTERVAL_MINUTES: {
    schema: integer(1, 1_440),
    fallback: "5",
    meaning: "minutes between two imports of changes from the ERP",
  },
  ERP_TIME_ZONE: {
    schema: timeZone,
    fallback: "UTC",
    meaning:
      "the merchant's time zone, for the nightly import at 02:30 and for the dates of orders",
  },
} as const;

export function erpImportConfig(get: GetSetting<typeof erpImportSettings>) {
  return { minutes: get("ERP_IMPORT_INTERVAL_MINUTES"), timeZone: get("ERP_TIME_ZONE") };
}
