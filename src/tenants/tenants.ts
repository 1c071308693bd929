import { badUserInput } from "../errors/PublicError.ts";

/** The tenant schemas: the main one, and one per test run. */
export interface Tenants {
  /** The schema of a test run; creates a missing one from the same migrations as the main one. */
  forTestRun(runId: string): Promise<string>;
  /** The schema of a test run, migrated to the current release; null when there is none. */
  existing(runId: string): Promise<string | null>;
  /** Removes a test run's schema, files and search collections; true also when there is none. */
  remove(runId: string): Promise<true>;
}

/** Only these characters are allowed in schema names, which are part of statements' text. */
export const tenantPattern = /^[a-z][a-z0-9_]{0,62}$/;

const runIdPattern = /^[a-z0-9_]{1,40}$/;

/** Checks the value of the `X-Test-run-id` header. @throws PublicError BAD_USER_INPUT */
export function parseTestRunId(header: string): string {
  if (runIdPattern.test(header)) return header;
  throw badUserInput("X-Test-run-id must be 1 to 40 of a-z, 0-9 and _", {
    header: "X-Test-run-id",
  });
}
