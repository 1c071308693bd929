/**
 * The outcome of the SQL-JSON path for a GraphQL operation. `answered`: it answered. `unsupported`: left to Grafast, as
 * unsupported or refused by a guard. `failed`: its compiler failed, which is a defect.
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
