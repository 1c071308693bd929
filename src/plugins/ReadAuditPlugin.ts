import type { GrafastExecutionArgs } from "postgraphile/grafast";
import type { RequestInfo } from "../auth/identity.ts";
import { withAuditIds, withoutAuditIds } from "../audit/auditIds.ts";
import { ownReads, ownReadsBelow } from "../audit/auditedPlaces.ts";
import { recordingOf, readsOf, type Recording } from "../audit/auditedReads.ts";

interface WithPgClient {
  (
    pgSettings: Record<string, string>,
    work: (client: { query(statement: Recording): Promise<unknown> }) => Promise<unknown>,
  ): Promise<unknown>;
}

/**
 * Records reads of audited types before the response is sent: without the record there is no response. (Triggers record
 * writes.)
 */
export const ReadAuditPlugin: GraphileConfig.Plugin = {
  name: "ReadAuditPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      // Each field that shows rows of an audited table reads them.
      GraphQLObjectType(config, _build, { scope }) {
        if (!scope.isPgClassType || scope.pgCodec?.extensions?.tags?.auditReads === undefined)
          return config;
        const office = { auditReads: config.name };
        return { ...config, extensions: { ...config.extensions, office } };
      },

      // Root fields get theirs from GuardsPlugin.
      GraphQLObjectType_fields_field(field, _build, { scope }) {
        const declared = scope.auditReads ?? scope.pgFieldResource?.extensions?.tags?.auditReads;
        if (declared !== ownReads && declared !== ownReadsBelow) return field;
        const office = {
          ...(field.extensions?.office as object),
          auditReads: declared,
        };
        return { ...field, extensions: { ...field.extensions, office } };
      },
    },
  },
  grafast: {
    middleware: {
      async execute(next, { args }) {
        const { document } = args;
        args.document = withAuditIds(args.schema, document, args.operationName);
        const asksMore = args.document !== document;
        try {
          const result = await next();
          await recordReads(args, result);
          if (asksMore && "data" in result) withoutAuditIds(result.data);
          return result;
        } finally {
          args.document = document;
        }
      },
    },
  },
};

/** Records the audited rows of a result, in the transaction of the context if there is one. */
export async function recordReads(args: GrafastExecutionArgs, result: object): Promise<void> {
  const { schema, document, operationName, variableValues, contextValue } = args;
  const context = contextValue as {
    requestContext?: RequestInfo;
    pgSettings: Record<string, string>;
    withPgClient: WithPgClient;
  };
  // A caller who logs in by this operation has no identity yet; the login has set the user.
  if (!context.requestContext?.identity && !context.pgSettings["office.user_id"]) return;
  const reads = readsOf(schema, document, operationName, variableValues ?? {}, result);
  if (reads.length > 0)
    await context.withPgClient(context.pgSettings, (client) => client.query(recordingOf(reads)));
}
