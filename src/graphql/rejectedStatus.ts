import { errorCodes, isErrorCode } from "../errors/errorCodes.ts";

/** The media type of GraphQL over HTTP. */
export const graphqlResponseType = "application/graphql-response+json";

/**
 * The HTTP status of an answer without `data`: the status of its first error's code where the client accepts
 * `application/graphql-response+json`, as GraphQL over HTTP asks, and 200 for all others.
 */
export function rejectedStatus(contentType: unknown, code: string | undefined): number {
  const isNewer = typeof contentType === "string" && contentType.startsWith(graphqlResponseType);
  if (!isNewer) return 200;
  return isErrorCode(code) ? errorCodes[code].status : 400;
}
