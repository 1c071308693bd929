import { type DocumentNode, type GraphQLSchema, OperationTypeNode, getOperationAST } from "graphql";
import { placesOf } from "./auditedPlaces.ts";

/** Whether an operation is a query without audit records, so that a read-only replica can answer it. */
export function isUnrecordedQuery(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): boolean {
  const operation = getOperationAST(document, operationName);
  return (
    operation?.operation === OperationTypeNode.QUERY &&
    placesOf(schema, document, operation).length === 0
  );
}
