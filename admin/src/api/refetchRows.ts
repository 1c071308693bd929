import { queryClient } from "../session.ts";

/** Refetches all queries of rows, after a mutation that may change several tables. */
export function refetchRows(): void {
  for (const key of ["record", "rows", "selectedRows", "history", "today"])
    void queryClient.invalidateQueries({ queryKey: [key] });
}
