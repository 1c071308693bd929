import { QuerySyntaxError } from "../../../src/query/QuerySyntaxError.ts";

/** Returns the QuerySyntaxError that the action throws; fails without one. */
export function refusal(action: () => unknown): QuerySyntaxError {
  try {
    action();
  } catch (error) {
    if (error instanceof QuerySyntaxError) return error;
    throw error;
  }
  throw new Error("no QuerySyntaxError was thrown");
}
