import { BrokenCircuitError, ConsecutiveBreaker, circuitBreaker, handleWhen } from "cockatiel";
import type { Logger } from "pino";
import { Webhook } from "standardwebhooks";
import { circuitOf } from "../health/circuitOf.ts";
import { readRetryAfter } from "./retryAfter.ts";
import type { ProductSyncCall, WorkflowGateway } from "./workflow.ts";
import {
  WorkflowBusyError,
  WorkflowError,
  WorkflowRefusedError,
  WorkflowCircuitOpenError,
} from "./workflow.ts";

// Consecutive failures that open the circuit.
const failuresToOpen = 5;
const excerptBytes = 2_000;

export interface WorkflowClientOptions {
  url: string;
  /** One secret, or two during a rotation. */
  secrets: readonly string[];
  /** The limit for one call, from name resolution to the end of the response. Also how long the circuit stays open. */
  timeoutMs: number;
}

/**
 * Calls the workflow at its configured URL, signed according to the Standard Webhooks specification. Redirects are not
 * followed.
 */
export function makeWorkflowClient(options: WorkflowClientOptions): WorkflowGateway {
  const { url, timeoutMs } = options;
  const webhooks = options.secrets.map((secret) => new Webhook(secret));
  const breaker = circuitBreaker(
    handleWhen((error) => error instanceof WorkflowError && !(error instanceof WorkflowBusyError)),
    { halfOpenAfter: timeoutMs, breaker: new ConsecutiveBreaker(failuresToOpen) },
  );
  return {
    circuit: () => circuitOf(breaker),
    async start(call, { signal, log }) {
      const body = bodyOf(call);
      try {
        await breaker.execute(() => {
          const at = new Date();
          const headers = {
            "content-type": "application/json",
            accept: "application/json, text/plain",
            "user-agent": "back-office",
            "webhook-id": call.runId,
            "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
            "webhook-signature": webhooks
              .map((webhook) => webhook.sign(call.runId, at, body))
              .join(" "),
          };
          return post(url, headers, body, timeoutMs, signal, log);
        });
      } catch (error) {
        if (!(error instanceof BrokenCircuitError)) throw error;
        throw new WorkflowCircuitOpenError(
          "The workflow has failed several times in a row; calls are paused",
          { cause: error, retryAfterMs: timeoutMs },
        );
      }
    },
  };
}

function bodyOf(call: ProductSyncCall): string {
  const { requestedAt, ...data } = call;
  return JSON.stringify({
    type: "product_sync.requested",
    timestamp: requestedAt.toISOString(),
    data,
  });
}

async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  timeoutMs: number,
  signal: AbortSignal,
  log: Logger,
): Promise<void> {
  const deadline = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let detail: string;
  try {
    response = await fetch(url, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: AbortSignal.any([signal, deadline]),
    });
    detail = await readExcerpt(response);
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.aborted)
      throw new WorkflowError(`The workflow did not answer within ${timeoutMs / 1000} seconds`, {
        cause: error,
      });
    // The kind of connection error is for the log only.
    const { code } = (error instanceof Error ? (error.cause ?? {}) : {}) as { code?: unknown };
    log.warn({ code }, "workflow unreachable");
    throw new WorkflowError("The connection to the workflow failed", { cause: error });
  }
  if (response.ok) return;
  throw refusal(response, detail);
}

function refusal(response: Response, detail: string): Error {
  const { status } = response;
  const retryAfterMs = readRetryAfter(response.headers.get("retry-after"), Date.now()) ?? 0;
  if (status === 429)
    return new WorkflowBusyError("The workflow asks for fewer calls (429)", { retryAfterMs });
  if (status === 408 || status >= 500)
    return new WorkflowError(`The workflow answered ${status}`, { retryAfterMs });
  if (status >= 300 && status < 400)
    return new WorkflowRefusedError(
      `The workflow's address redirects elsewhere (${status}), which is not followed: correct PRODUCT_SYNC_WORKFLOW_URL`,
    );
  return new WorkflowRefusedError(
    `The workflow refused the call (${status})${detail && `: ${detail}`}`,
  );
}

/** The beginning of the response on one line; the rest is not read. */
async function readExcerpt(response: Response): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  // Leaving the loop closes the connection.
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk.subarray(0, excerptBytes - bytes), { stream: true });
    bytes += chunk.length;
    if (bytes >= excerptBytes) break;
  }
  // A proxy's HTML page adds nothing to the status.
  if (response.headers.get("content-type")?.includes("html")) return "";
  return text
    .replace(/v1,[\w+/=]+|whsec_[\w+/=]+/g, "[left out]")
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, 200);
}
