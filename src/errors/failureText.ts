import { FileStoreError } from "../gateways/files.ts";
import { SearchEngineError } from "../gateways/search.ts";
import { OperatorError } from "../text/OperatorError.ts";
import { isOutage, outageText } from "./databaseErrors.ts";

/** What a terminal shows of the failure that ended a process or a command; with a stack when it is a defect. */
export function failureText(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  if (error instanceof FileStoreError || error instanceof SearchEngineError)
    return error.cause instanceof Error
      ? `${error.message}: ${error.cause.message}`
      : error.message;
  if (isOutage(error)) return outageText("The database", error);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
