/** Cases per property; `npm run test:faults` sets 2000. */
const cases = process.env.PROPERTY_CASES;

/**
 * Options of a property test against the database: a seed that differs in each run and is printed, so that
 * `PROPERTY_SEED=<seed>` repeats the run.
 * @param numRuns the number of cases where PROPERTY_CASES does not set another
 */
export function propertyRuns(numRuns: number): { numRuns: number; seed: number } {
  const seed = Number(process.env.PROPERTY_SEED ?? Math.floor(Math.random() * 2 ** 31));
  process.stderr.write(`PROPERTY_SEED=${seed}\n`);
  return { numRuns: cases === undefined ? numRuns : Number(cases), seed };
}

/** Time limit of a property test, in milliseconds. */
export const propertyTimeoutMs = cases === undefined ? 60_000 : 900_000;
