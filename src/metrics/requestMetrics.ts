import type { RequestHandler } from "express";
import { Counter, Histogram, type Registry } from "prom-client";
import { currentScope } from "../context/requestScope.ts";

declare global {
  namespace Express {
    interface Locals {
      /** The operation's label, from a bounded set: never text from a client. */
      operation?: string;
      /** The request's trace, if tracing is on. */
      traceId?: string;
      /** Whether the document is a persisted one. */
      persisted?: boolean;
      /** The operation's cost, estimated from its page sizes. */
      cost?: number;
    }
  }
}

const buckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];
const methods = new Set(["GET", "HEAD", "POST", "OPTIONS"]);

/**
 * Counts and times requests: GraphQL by operation and outcome (`ok`, the first error's code, `aborted`), all by route
 * and status. Operations are root fields or names of persisted documents, which bounds the number of labels.
 */
export function measureRequests(registry: Registry): RequestHandler {
  const operations = new Counter({
    name: "office_graphql_operations_total",
    help: "GraphQL requests by what they ask for first and how they ended",
    labelNames: ["operation", "outcome"],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: "office_graphql_operation_seconds",
    help: "Time from the first byte of a GraphQL request to the last of its answer",
    labelNames: ["operation"],
    buckets,
    registers: [registry],
  });
  const requests = new Histogram({
    name: "office_http_request_seconds",
    help: "Time of HTTP requests by route and status",
    labelNames: ["method", "route", "status"],
    buckets,
    registers: [registry],
  });

  return (request, response, next) => {
    const scope = currentScope();
    const started = performance.now();
    response.once("close", () => {
      const took = (performance.now() - started) / 1000;
      const { operation } = response.locals;
      const aborted = !response.writableFinished;
      // Set by the router that answered; requests without a route share one label.
      const route = (request.route as { path?: unknown } | undefined)?.path;
      requests.observe(
        {
          method: methods.has(request.method) ? request.method : "other",
          route: operation !== undefined ? "/graphql" : typeof route === "string" ? route : "other",
          status: aborted ? "aborted" : String(response.statusCode),
        },
        took,
      );
      if (operation === undefined) return;
      operations.inc({ operation, outcome: aborted ? "aborted" : (scope?.failure ?? "ok") });
      seconds.observe({ operation }, took);
    });
    next();
  };
}
