import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Circuit } from "../../health/externalSystems.ts";
import type { ErpCallOptions } from "../erp.ts";
import { ErpAnswerError, ErpAuthError, ErpUnavailableError } from "../erp.ts";
import type { AccessTokens } from "./accessToken.ts";
import type { Attempts } from "./attempts.ts";
import { TooManyRequestsError } from "./attempts.ts";
import { parseJson } from "./json.ts";
import { readRetryAfter } from "../retryAfter.ts";

export interface TransportOptions {
  tokens: AccessTokens;
  attempts: Attempts;
  timeoutMs: number;
  /** A longer answer is cut off. */
  largestAnswerBytes: number;
}

export interface GetOptions extends ErpCallOptions {
  /** Records in one answer at most (`odata.maxpagesize`). */
  pageSize?: number;
  /** One try only, whatever the circuit says. */
  once?: boolean;
}

/** Reads from the ERP. */
export interface Transport {
  /** What stands at the address, as `parseJson` reads it. */
  get(url: URL, options: GetOptions): Promise<unknown>;
  circuit(): Circuit;
}

/** An answer above the bound; fewer records would make a smaller one. */
export class AnswerTooLargeError extends ErpAnswerError {}

/** Requests with a token, bounds on time and size, and tries again, as the rest of the client wants them. */
export function makeTransport(options: TransportOptions): Transport {
  const { tokens, attempts } = options;
  return {
    async get(url, given) {
      const { signal, once = false } = given;
      const requestId = requestIdOf(given.correlationId);
      const attempt = async () => {
        const token = await tokens.get();
        const answer = await ask(url, token, requestId, options, given);
        if (answer !== "unauthorized") return answer;
        // The token may have been revoked, or our clocks differ: one new one is worth a try.
        tokens.discard(token);
        const second = await ask(url, await tokens.get(), requestId, options, given);
        if (second !== "unauthorized") return second;
        throw new ErpAuthError(
          "The ERP does not take the token that its login service gave us: is the application registered in it?",
        );
      };
      const result = once ? await attempt() : await attempts.run(attempt, signal);
      return result.json;
    },
    circuit: () => attempts.circuit(),
  };
}

/** The header is documented to take what telemetry groups by; a correlation id of another form is not sent. */
function requestIdOf(correlationId: string | undefined): string {
  return correlationId !== undefined && /^[\w.:-]{1,100}$/.test(correlationId)
    ? correlationId
    : randomUUID();
}

async function ask(
  url: URL,
  token: string,
  requestId: string,
  { timeoutMs, largestAnswerBytes }: TransportOptions,
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
        // Error messages are for staff who read English.
        "accept-language": "en-US",
        // Named in include-webservices-telemetry-who-is-calling.md.
        "client-request-id": requestId,
        ...(pageSize === undefined ? {} : { prefer: `odata.maxpagesize=${pageSize}` }),
      },
      // The token is for this address only.
      redirect: "manual",
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    text = await readBounded(response, largestAnswerBytes);
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted)
      throw new ErpUnavailableError(`The ERP did not answer within ${timeoutMs} ms`, {
        cause: error,
      });
    throw new ErpUnavailableError("The connection to the ERP failed", { cause: error });
  }
  if (response.status === 401) return "unauthorized";
  if (response.status !== 200) throw refusal(response, text ?? "");
  if (text === null)
    throw new AnswerTooLargeError(`The ERP's answer is larger than ${largestAnswerBytes} bytes`);
  try {
    return { json: parseJson(text) };
  } catch (error) {
    // Most likely cut off by something in between: another try may bring it whole. The error would quote the answer.
    throw new ErpUnavailableError("The ERP's answer is no JSON", {
      cause: new Error(error instanceof Error ? error.name : "unknown"),
    });
  }
}

/** The body as text; null when it is too large. Bytes that are no UTF-8 fail. */
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

const errorAnswer = z.object({
  error: z.object({ code: z.string().catch(""), message: z.string().catch("") }),
});

/** Statuses as web-service-troubleshooting.md and operational-limits-online.md list them. */
function refusal(response: Response, body: string): Error {
  const { status } = response;
  const retryAfterMs = readRetryAfter(response.headers.get("retry-after"), Date.now());
  if (status === 429)
    return new TooManyRequestsError("The ERP asks for fewer requests (429)", { retryAfterMs });
  const said = saidIn(body);
  if (status === 408 || status === 409 || status >= 500)
    return new ErpUnavailableError(`The ERP answered ${status}${said}`, { retryAfterMs });
  if (status === 403)
    return new ErpAuthError(`The ERP does not permit our application this (403)${said}`);
  if (status === 404)
    return new ErpAnswerError(
      `The ERP has nothing at this address (404): are tenant, environment and company right?${said}`,
    );
  return new ErpAnswerError(`The ERP refused the request (${status})${said}`);
}

/** Business Central's own code and message, short and on one line. */
function saidIn(body: string): string {
  try {
    const { code, message } = errorAnswer.parse(JSON.parse(body)).error;
    const words = [code, message]
      .join(": ")
      .replace(/Bearer\s+\S+/gi, "Bearer ...")
      .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ");
    return `: ${words.trim().slice(0, 300)}`;
  } catch {
    // A page of some proxy: it explains nothing that the status does not.
    return "";
  }
}
