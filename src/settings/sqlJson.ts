import { z } from "zod";
import type { Get } from "./types.ts";

/** Whether reads are answered by one SQL statement where possible. */
export const sqlJsonSettings = {
  SQL_JSON: {
    schema: z.enum(["on", "off", "strict"], { error: "must be on, off or strict" }),
    fallback: "on",
    meaning:
      "`on` answers the GraphQL operations that one SQL statement can answer without Grafast; `off` leaves all to Grafast; `strict` is `on`, and a defect of the compiler is an error instead of being left to Grafast",
  },
} as const;

export function sqlJsonConfig(get: Get<typeof sqlJsonSettings>) {
  return get("SQL_JSON");
}
