import { badUserInput } from "../errors/PublicError.ts";

/** The schemas that requests work in: the main one, and one for each isolated test run. */
export interface Tenants {
  /** The schema of a test run, created from the same migrations as the main one when it is missing. */
  forTestRun(runId: string): Promise<string>;
  /** The schema of a test run, brought up to date; null when there is none. */
  existing(runId: string): Promise<string | null>;
  /** Removes a test run's schema with all that belongs to it; true also when there is none. */
  remove(runId: string): Promise<true>;
}

/** Schema names go into statements that take no parameters for them, so only these characters are allowed. */
export const tenantPattern = /^[a-z][a-z0-9_]{0,62}$/;

const runIdPattern = /^[a-z0-9_]{1,40}$/;

/** Checks the value of the `X-Test-run-id` header. @throws PublicError BAD_USER_INPUT */
export function parseTestRunId(header: string): string {
  if (runIdPattern.test(header)) return header;
  throw badUserInput("X-Test-run-id must be 1 to 40 of a-z, 0-9 and _", {
    header: "X-Test-run-id",
  });
}
