import { FileStoreError } from "../gateways/files.ts";
import { SearchEngineError } from "../gateways/search.ts";
import { OperatorError } from "../text/OperatorError.ts";
import {
  connectionAdvice,
  isDatabaseError,
  isMissingSchema,
  isOutage,
  messageOf,
  outageText,
} from "./databaseErrors.ts";

/** What a terminal shows of the failure that ended a process or a command; with a stack when it is a defect. */
export function failureText(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  if (error instanceof FileStoreError || error instanceof SearchEngineError)
    return error.cause === undefined
      ? error.message
      : `${error.message}: ${messageOf(error.cause)}`;
  if (isOutage(error)) return outageText("The database", error);
  if (isDatabaseError(error)) {
    // Of the login, before a statement of ours.
    const role = /permission denied to set role "(\w+)"/.exec(error.message)?.[1];
    if (role !== undefined) return `${error.message}\n${connectionAdvice(error, role)}`;
    if (isMissingSchema(error))
      return `The database is not of this release: ${error.message}\nRun \`npm run db:migrate\``;
    if (error.code === "42501")
      return `The login may not do this: ${error.message}\nSet DATABASE_OWNER_URL to the login of the database's administrator`;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
