import type { RequestHandler } from "express";
import { tracing } from "../telemetry/tracing.ts";

const traceparentPattern = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Records a span for each request, in the caller's trace if the header `traceparent` names one. */
export const traceRequests: RequestHandler = (request, response, next) => {
  const { traceparent } = request.headers;
  const parent =
    typeof traceparent === "string" && traceparentPattern.test(traceparent)
      ? traceparent
      : undefined;
  const span = tracing()?.start(
    request.method,
    "server",
    { "http.request.method": request.method },
    parent,
  );
  if (!span) {
    next();
    return;
  }
  response.once("close", () => {
    const { operation } = response.locals;
    const route = (request.route as { path?: unknown } | undefined)?.path;
    const place =
      operation !== undefined ? "/graphql" : typeof route === "string" ? route : "other";
    span.rename(operation === undefined ? `${request.method} ${place}` : `graphql ${operation}`);
    span.set({
      "http.route": place,
      "http.response.status_code": response.statusCode,
      "office.correlation_id": String(response.getHeader("X-Correlation-Id") ?? ""),
      ...(operation === undefined ? {} : { "graphql.operation.name": operation }),
    });
    span.end(response.statusCode >= 500 ? { code: String(response.statusCode) } : undefined);
  });
  response.locals.traceId = span.traceId;
  span.within(next);
};
