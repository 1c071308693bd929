import { queryClient } from "../session.ts";

/** Fetches everything that shows rows again, after a mutation that may change rows of several tables. */
export function refetchRows(): void {
  for (const key of ["record", "rows", "history", "today"])
    void queryClient.invalidateQueries({ queryKey: [key] });
}
