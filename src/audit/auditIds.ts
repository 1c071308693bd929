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
 * Under which name documents ask for ids that are for the audit log alone. New with each process: nobody can ask for it, and no
 * stored JSON has it.
 */
export const auditIdKey = `auditId_${randomBytes(8).toString("hex")}`;

const hidden: FieldNode = {
  kind: Kind.FIELD,
  name: { kind: Kind.NAME, value: "id" },
  alias: { kind: Kind.NAME, value: auditIdKey },
};

const known = new WeakMap<DocumentNode, Map<string | null, DocumentNode>>();
const made = new WeakSet<DocumentNode>();

/** Whether a document has ids in it that nobody but the audit log asks for. */
export function asksAuditIds(document: DocumentNode): boolean {
  return made.has(document);
}

/**
 * The document with the ids asked for, too, of rows of audited types that come along with others, so that their record can name
 * the one row that was read; the same document where it asks for them all itself. Found once for each.
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
  // What a query asks for at its root is named by its arguments.
  for (const place of places) collect(place, operation.operation !== "query");
  if (nodes.size === 0) return document;
  const asking = visit(document, {
    Field(node) {
      const { selectionSet } = node;
      if (!selectionSet || !nodes.has(node)) return undefined;
      const selections = [...selectionSet.selections, hidden];
      return { ...node, selectionSet: { ...selectionSet, selections } };
    },
  });
  made.add(asking);
  return asking;
}

/** Takes the ids out of an answer that were asked for the audit log alone. */
export function withoutAuditIds(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) withoutAuditIds(item);
    return;
  }
  const row = value as Record<string, unknown>;
  // Answers are read as they are by whoever sends them: nothing else may be told of their making.
  Reflect.deleteProperty(row, auditIdKey);
  for (const child of Object.values(row)) withoutAuditIds(child);
}
