import { QuerySyntaxError } from "../../../src/query/QuerySyntaxError.ts";

/** The QuerySyntaxError that the action throws; fails when there is none. */
export function refusal(action: () => unknown): QuerySyntaxError {
  try {
    action();
  } catch (error) {
    if (error instanceof QuerySyntaxError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
