import { type ExecutionResult, GraphQLError } from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { compressAnswer, isCompressible } from "../graphql/compressAnswer.ts";
import type { Documents } from "../graphql/documents.ts";
import { withHidden } from "../graphql/hiddenInAnswer.ts";
import { rejectedStatus } from "../graphql/rejectedStatus.ts";
import { inSpan } from "../telemetry/tracing.ts";
import { currentScope } from "../context/requestScope.ts";

/** Adds the counted cost to the response. */
function withCost(result: ExecutionResult): ExecutionResult {
  const cost = currentScope()?.cost;
  return cost ? { ...result, extensions: { ...result.extensions, cost } } : result;
}

function noteRejection(): void {
  const scope = currentScope();
  if (scope) scope.rejected = true;
}

/**
 * Executes parsed documents and sets the HTTP status: 503 when the database was
 * unavailable during the operation, otherwise 200, since only well-formed GraphQL requests get here.
 */
export function makeServingPlugin(documents: Documents): GraphileConfig.Plugin {
  return {
    name: "ServingPlugin",
    version: "1.0.0",
    grafserv: {
      middleware: {
        setPreset(next, event) {
          // Called below with its own `this`.
          const { getExecutionConfig } = event;
          event.getExecutionConfig = async function (context) {
            const config = await getExecutionConfig.call(this, context);
            const execute = async (args: GrafastExecutionArgs) => {
              const run = () => config.execute(args);
              try {
                const result = await inSpan("graphql.execute", "internal", {}, run);
                if (Symbol.asyncIterator in result) return result;
                if (!("data" in result)) noteRejection();
                return withCost(withHidden(args, result));
              } catch (error) {
                // A thrown error that is not part of a result would reach the caller unmasked.
                noteRejection();
                const originalError = error instanceof Error ? error : new Error(String(error));
                return { errors: [new GraphQLError(originalError.message, { originalError })] };
              }
            };
            return { ...config, execute, parseAndValidate: (query) => documents.read(query) };
          };
          return next();
        },

        async processRequest(next, event) {
          const result = await next();
          if (result?.type !== "buffer" || event.requestDigest.method !== "POST") return result;
          const scope = currentScope();
          const headers = {
            ...result.headers,
            ...(scope?.challenge !== undefined && { "www-authenticate": scope.challenge }),
            ...(scope?.replayed && { "idempotent-replayed": "true" }),
          };
          if (scope?.outage)
            return {
              ...result,
              statusCode: 503,
              headers: { ...headers, "retry-after": "2" },
            };
          const statusCode = scope?.rejected
            ? rejectedStatus(result.headers["content-type"], scope.failure)
            : 200;
          const { encoding } = event.requestDigest.requestContext.expressv4?.res.locals ?? {};
          if (!encoding || !isCompressible(result.buffer.length))
            return { ...result, statusCode, headers };
          const buffer = await compressAnswer(result.buffer, encoding);
          return {
            ...result,
            statusCode,
            headers: {
              ...headers,
              "content-encoding": encoding,
              "content-length": String(buffer.length),
              vary: "Origin, Accept-Encoding",
            },
            buffer,
          };
        },
      },
    },
  };
}
