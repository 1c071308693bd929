import {
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  type SelectionSetNode,
  Kind,
  getOperationAST,
  valueFromASTUntyped,
} from "graphql";
import type { RequestInfo } from "../auth/identity.ts";

/** A read that is to be recorded: of which entity type, which one, with what filter, and how many rows came. */
export interface ReadRecord {
  entityType: string;
  entityId: string | null;
  metadata: {
    operation: string | null;
    field: string;
    arguments?: Record<string, unknown>;
    rows: number;
  };
}

interface Executed {
  data?: Record<string, unknown> | null;
  errors?: readonly { path?: readonly (string | number)[] }[];
}

/**
 * The reads of audited types in an executed query: its root fields that declare `auditReads`, with their arguments and the
 * number of rows that were answered. A field that failed read nothing.
 */
export function readsOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Record<string, unknown>,
  result: Executed,
): ReadRecord[] {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== "query" || !result.data) return [];
  const fields = schema.getQueryType()?.getFields() ?? {};
  const records: ReadRecord[] = [];
  // A field that was refused or failed as a whole read nothing; one that is asked twice is read once.
  const seen = new Set<unknown>(
    (result.errors ?? []).flatMap(({ path }) => (path?.length === 1 ? path : [])),
  );
  for (const node of rootFields(document, operation.selectionSet)) {
    const key = node.alias?.value ?? node.name.value;
    const office = fields[node.name.value]?.extensions.office as
      { auditReads?: string } | undefined;
    const value = result.data[key];
    if (!office?.auditReads || value === undefined || seen.has(key)) continue;
    seen.add(key);
    const given = Object.fromEntries(
      (node.arguments ?? []).map((argument) => [
        argument.name.value,
        valueFromASTUntyped(argument.value, variables),
      ]),
    );
    records.push({
      entityType: office.auditReads,
      entityId: typeof given.id === "string" ? given.id : null,
      metadata: {
        operation: operation.name?.value ?? null,
        field: node.name.value,
        ...(Object.keys(given).length > 0 ? { arguments: given } : {}),
        rows: countRows(value),
      },
    });
  }
  return records;
}

function rootFields(document: DocumentNode, selectionSet: SelectionSetNode): FieldNode[] {
  return selectionSet.selections.flatMap((node) => {
    if (node.kind === Kind.FIELD) return [node];
    if (node.kind === Kind.INLINE_FRAGMENT) return rootFields(document, node.selectionSet);
    const fragment = document.definitions.find(
      (definition) =>
        definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === node.name.value,
    );
    return fragment?.kind === Kind.FRAGMENT_DEFINITION
      ? rootFields(document, fragment.selectionSet)
      : [];
  });
}

function countRows(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (Array.isArray(value)) return value.length;
  if (typeof value === "object")
    for (const key of ["nodes", "edges", "items"]) {
      const page = (value as Record<string, unknown>)[key];
      if (Array.isArray(page)) return page.length;
    }
  return 1;
}

interface WithPgClient {
  (
    pgSettings: Record<string, string>,
    work: (client: {
      query(query: { text: string; values: unknown[] }): Promise<unknown>;
    }) => Promise<unknown>,
  ): Promise<unknown>;
}

/**
 * Records what an operation read of audited types, before its answer goes out: an answer that could not be recorded is not
 * given. (Writes are recorded by the tables' triggers.)
 */
export const ReadAuditPlugin: GraphileConfig.Plugin = {
  name: "ReadAuditPlugin",
  version: "1.0.0",
  grafast: {
    middleware: {
      async execute(next, { args }) {
        const result = await next();
        const { schema, document, operationName, variableValues, contextValue } = args;
        const reads = readsOf(
          schema,
          document,
          operationName,
          variableValues ?? {},
          result as Executed,
        );
        const context = contextValue as {
          office?: RequestInfo;
          pgSettings: Record<string, string>;
          withPgClient: WithPgClient;
        };
        if (reads.length > 0 && context.office?.identity)
          await context.withPgClient(context.pgSettings, (client) =>
            client.query({
              text: `select record_read(r ->> 'entityType', r ->> 'entityId', r -> 'metadata')
                     from jsonb_array_elements($1::jsonb) as r`,
              values: [JSON.stringify(reads)],
            }),
          );
        return result;
      },
    },
  },
};
