import type { RequestListener } from "node:http";
import { errorBody } from "../errors/HttpError.ts";
import { correlationIdOf } from "./correlation.ts";
import type { AdmissionControl } from "./admissionControl.ts";
import type { NodeHandler } from "./nodeHandler.ts";

// Health checks and the console's files, which are in memory, are always admitted.
const admittedPattern = /^\/((healthz|readyz)\/?(\?|$)|admin([/?]|$))/i;
const graphqlPattern = /^\/graphql\/?(\?|$)/i;

/**
 * Rejects requests before Express, whose overhead exceeds that of the rejection. Rejections are counted, and neither
 * logged nor traced; `prepare` sets their common headers. CORS preflight requests are always admitted.
 */
export function withAdmissionControl(
  app: RequestListener,
  { admit }: Pick<AdmissionControl, "admit">,
  prepare: readonly NodeHandler[],
): RequestListener {
  return (request, response) => {
    const { url = "", method } = request;
    const refusal =
      method === "OPTIONS" || admittedPattern.test(url)
        ? undefined
        : admit(method === "POST" && graphqlPattern.test(url));
    if (refusal === undefined) {
      app(request, response);
      return;
    }
    for (const step of prepare) step(request, response, () => undefined);
    const correlationId = correlationIdOf(request);
    const body = JSON.stringify(errorBody(refusal, correlationId));
    response
      .writeHead(refusal.status, {
        "Content-Type": "application/json; charset=utf-8",
        "Content-Length": Buffer.byteLength(body),
        "Cache-Control": "no-store",
        "Retry-After": "2",
        "X-Correlation-Id": correlationId,
      })
      .end(body);
  };
}
