import { type DocumentNode, type GraphQLSchema, OperationTypeNode, getOperationAST } from "graphql";
import { placesOf } from "./auditedPlaces.ts";

/** Whether an operation is a query of which nothing is recorded, so that all of it may be read where nothing can be written. */
export function recordsNothing(
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
