import type { RequestListener } from "node:http";
import { errorBody } from "../errors/HttpError.ts";
import { correlationIdOf } from "./correlation.ts";
import type { AdmissionControl } from "./admissionControl.ts";
import type { NodeHandler } from "./nodeHandler.ts";

// Those who look after the server are let in whatever it has to do.
const healthPattern = /^\/(healthz|readyz)\/?(\?|$)/i;
const graphqlPattern = /^\/graphql\/?(\?|$)/i;

/**
 * Lets requests in to `app`, or refuses them as `admit` says before any of what Express costs, which is more than the refusal itself: a process that has enough to do may be asked by very many. What is refused here is counted, and neither logged nor
 * traced. `prepare` sets the headers that every answer has. A browser's question whether it may ask is answered in any case.
 */
export function withAdmissionControl(
  app: RequestListener,
  { admit }: Pick<AdmissionControl, "admit">,
  prepare: readonly NodeHandler[],
): RequestListener {
  return (request, response) => {
    const { url = "", method } = request;
    const refusal =
      method === "OPTIONS" || healthPattern.test(url)
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
