import { z } from "zod";
import type { GetSetting } from "./types.ts";

/** Whether reads are answered by one SQL statement where possible. */
export const sqlJsonSettings = {
  SQL_JSON: {
    schema: z.enum(["on", "off", "strict", "explain"], {
      error: "must be on, off, strict or explain",
    }),
    fallback: "on",
    meaning:
      "`on` answers the GraphQL operations that one SQL statement can answer without Grafast; `off` leaves all to Grafast; `strict` is `on`, and a defect of the compiler is an error instead of being left to Grafast; `explain`, outside production, is `on` and logs the plan of each read",
  },
} as const;

export function sqlJsonConfig(get: GetSetting<typeof sqlJsonSettings>) {
  return get("SQL_JSON");
}

/** The problems of the setting. */
export function sqlJsonProblems(mode: ReturnType<typeof sqlJsonConfig>, production: boolean) {
  // Plans show values, and each statement runs twice.
  return production && mode === "explain" ? ["SQL_JSON cannot be explain in production"] : [];
}
