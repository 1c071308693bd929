import { errorCodes, isErrorCode } from "../errors/errorCodes.ts";

/** The media type of GraphQL over HTTP. */
export const graphqlResponseType = "application/graphql-response+json";

/**
 * The HTTP status of a response without `data`: that of its first error where the client accepts
 * `application/graphql-response+json`, as GraphQL over HTTP specifies, and 200 otherwise.
 */
export function rejectedStatus(contentType: unknown, code: string | undefined): number {
  const isNewer = typeof contentType === "string" && contentType.startsWith(graphqlResponseType);
  if (!isNewer) return 200;
  return isErrorCode(code) ? errorCodes[code].status : 400;
}
