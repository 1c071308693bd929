import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Circuit } from "../../health/externalSystems.ts";
import type { ErpCallOptions } from "../erp.ts";
import { ErpAnswerError, ErpAuthError, ErpUnavailableError } from "../erp.ts";
import type { AccessTokens } from "./accessToken.ts";
import type { Attempts } from "./attempts.ts";
import { TooManyRequestsError } from "./attempts.ts";
import { TooManyValuesError, parseJson } from "./json.ts";
import { readRetryAfter } from "../retryAfter.ts";

export interface TransportOptions {
  tokens: AccessTokens;
  /** The client secret, which an error text of the ERP must not pass on. */
  secret: string;
  attempts: Attempts;
  timeoutMs: number;
  /** A longer response is cut off. */
  maxResponseBytes: number;
}

export interface GetOptions extends ErpCallOptions {
  /** The maximum number of records in a response (`odata.maxpagesize`). */
  pageSize?: number;
  /** Makes a single try and ignores the circuit breaker. */
  once?: boolean;
}

/** Sends read requests to the ERP. */
export interface Transport {
  /** Returns the JSON at the URL, parsed by `parseJson`. */
  get(url: URL, options: GetOptions): Promise<unknown>;
  circuit(): Circuit;
}

/** A response exceeded a limit of its size; fewer records make a smaller one. */
export class ResponseTooLargeError extends ErpAnswerError {}

/** Adds tokens, limits of time and size, and retries to requests. */
export function makeTransport(options: TransportOptions): Transport {
  const { tokens, attempts } = options;
  return {
    async get(url, callOptions) {
      const { signal, once = false } = callOptions;
      const requestId = requestIdOf(callOptions.correlationId);
      const attempt = async () => {
        const token = await tokens.get();
        const answer = await ask(url, token, requestId, options, callOptions);
        if (answer !== "unauthorized") return answer;
        // The token may have been revoked or the clocks differ, so one retry uses a new token.
        tokens.discard(token);
        const second = await ask(url, await tokens.get(), requestId, options, callOptions);
        if (second !== "unauthorized") return second;
        throw new ErpAuthError(
          "The ERP rejects the token of its login service: check that the application is registered in the ERP",
        );
      };
      const result = once ? await attempt() : await attempts.run(attempt, signal);
      return result.json;
    },
    circuit: () => attempts.circuit(),
  };
}

/** The header's documented format is limited; a correlation id in another format is not sent. */
function requestIdOf(correlationId: string | undefined): string {
  return correlationId !== undefined && /^[\w.:-]{1,100}$/.test(correlationId)
    ? correlationId
    : randomUUID();
}

async function ask(
  url: URL,
  token: string,
  requestId: string,
  { timeoutMs, maxResponseBytes, secret }: TransportOptions,
  { signal, pageSize }: GetOptions,
): Promise<{ json: unknown } | "unauthorized"> {
  const deadline = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let text: string | null;
  try {
    response = await fetch(url, {
      headers: {
        authorization: `Bearer ${token}`,
        accept: "application/json",
        // Requests error messages in English.
        "accept-language": "en-US",
        // Documented in include-webservices-telemetry-who-is-calling.md.
        "client-request-id": requestId,
        ...(pageSize === undefined ? {} : { prefer: `odata.maxpagesize=${pageSize}` }),
      },
      // The token must not be sent to another address.
      redirect: "manual",
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    text = await readBounded(response, maxResponseBytes);
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted)
      throw new ErpUnavailableError(`The ERP did not answer within ${timeoutMs} ms`, {
        cause: error,
      });
    if (isEncodingError(error))
      throw new ErpUnavailableError("The ERP's response is not UTF-8", { cause: error });
    throw new ErpUnavailableError("The connection to the ERP failed", { cause: error });
  }
  if (response.status === 401) return "unauthorized";
  if (response.status !== 200) throw refusal(response, text ?? "", [token, secret]);
  if (text === null)
    throw new ResponseTooLargeError(`The ERP's response is larger than ${maxResponseBytes} bytes`);
  try {
    return { json: parseJson(text) };
  } catch (error) {
    if (error instanceof TooManyValuesError)
      throw new ResponseTooLargeError(`The ERP's response has ${error.message}`);
    // The response was probably cut off, so a retry may succeed. The parser's error would quote the response.
    throw new ErpUnavailableError("The ERP's response is not JSON", {
      cause: new Error(error instanceof Error ? error.name : "unknown"),
    });
  }
}

/** The body as text; null when it is too large. Throws for invalid UTF-8. */
async function readBounded(response: Response, largest: number): Promise<string | null> {
  if (response.body === null) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let size = 0;
  let text = "";
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > largest) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function isEncodingError(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ERR_ENCODING_INVALID_ENCODED_DATA";
}

const errorAnswer = z.object({
  error: z.object({ code: z.string().catch(""), message: z.string().catch("") }),
});

/** Statuses from web-service-troubleshooting.md and operational-limits-online.md. */
function refusal(response: Response, body: string, secrets: readonly string[]): Error {
  const { status } = response;
  const retryAfterMs = readRetryAfter(response.headers.get("retry-after"), Date.now());
  if (status === 429)
    return new TooManyRequestsError("The ERP asks for fewer requests (429)", { retryAfterMs });
  const detail = errorText(body, secrets);
  if (status === 408 || status === 409 || status >= 500)
    return new ErpUnavailableError(`The ERP answered ${status}${detail}`, { retryAfterMs });
  if (status === 403)
    return new ErpAuthError(`The application lacks a permission in the ERP (403)${detail}`);
  if (status === 404)
    return new ErpAnswerError(
      `The ERP returned 404: check tenant, environment and company${detail}`,
    );
  return new ErpAnswerError(`The ERP rejected the request (${status})${detail}`);
}

/** Business Central's error code and message, shortened to one line and without secrets. */
function errorText(body: string, secrets: readonly string[]): string {
  try {
    const { code, message } = errorAnswer.parse(JSON.parse(body)).error;
    const words = secrets
      .reduce((text, secret) => text.replaceAll(secret, "..."), `${code}: ${message}`)
      .replace(/Bearer\s+\S+/gi, "Bearer ...")
      .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ");
    return `: ${words.trim().slice(0, 300)}`;
  } catch {
    // A proxy's HTML page adds nothing to the status.
    return "";
  }
}
