import { randomBytes } from "node:crypto";
import {
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  getOperationAST,
  visit,
} from "graphql";
import { type Place, placesOf } from "./auditedPlaces.ts";

/**
 * The alias of ids that only the audit log needs. Random per process, so no caller selects it and no stored JSON
 * contains it.
 */
export const auditIdKey = `auditId_${randomBytes(8).toString("hex")}`;

const hidden: FieldNode = {
  kind: Kind.FIELD,
  name: { kind: Kind.NAME, value: "id" },
  alias: { kind: Kind.NAME, value: auditIdKey },
};

const known = new WeakMap<DocumentNode, Map<string | null, DocumentNode>>();

/**
 * Adds ids to nested rows of audited types, so that their audit record can name the row. Returns the same document
 * where all ids are selected. Cached per document.
 */
export function withAuditIds(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): DocumentNode {
  const operation = getOperationAST(document, operationName);
  if (!operation) return document;
  const name = operation.name?.value ?? null;
  const found = known.get(document) ?? new Map<string | null, DocumentNode>();
  known.set(document, found);
  const before = found.get(name);
  if (before) return before;
  const asking = ask(document, operation, placesOf(schema, document, operation));
  found.set(name, asking);
  return asking;
}

function ask(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  places: readonly Place[],
): DocumentNode {
  const nodes = new Set<FieldNode>();
  const collect = (place: Place, isAlong: boolean) => {
    if (isAlong && place.entityType !== null)
      for (const one of place.pageKeys === null ? [place] : place.rows)
        if (one.lacksId) for (const node of one.nodes) nodes.add(node);
    for (const child of place.children) collect(child, true);
  };
  // Arguments name the row of a root field of a query.
  for (const place of places) collect(place, operation.operation !== "query");
  if (nodes.size === 0) return document;
  return visit(document, {
    Field(node) {
      const { selectionSet } = node;
      if (!selectionSet || !nodes.has(node)) return undefined;
      const selections = [...selectionSet.selections, hidden];
      return { ...node, selectionSet: { ...selectionSet, selections } };
    },
  });
}

/** Removes the ids that were added for the audit log from a result. */
export function withoutAuditIds(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) withoutAuditIds(item);
    return;
  }
  const row = value as Record<string, unknown>;
  // Deleted in place, because this object becomes the response.
  Reflect.deleteProperty(row, auditIdKey);
  for (const child of Object.values(row)) withoutAuditIds(child);
}
