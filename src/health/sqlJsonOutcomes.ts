/**
 * How the SQL-JSON path ended for a GraphQL operation: it answered it; it left it to Grafast because it does not support
 * it or a guard refused the caller; or its compiler failed, which is a defect.
 */
export type SqlJsonOutcome = "answered" | "unsupported" | "failed";

const counts: Record<SqlJsonOutcome, number> = {
  answered: 0,
  unsupported: 0,
  failed: 0,
};

export function countSqlJsonOutcome(outcome: SqlJsonOutcome): void {
  counts[outcome]++;
}

/** The counts since the process started. */
export function sqlJsonOutcomes(): Readonly<Record<SqlJsonOutcome, number>> {
  return counts;
}
