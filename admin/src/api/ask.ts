import { ApiError, type ApiErrorDetail } from "./errors.ts";
import { watchRequest } from "./reachability.ts";

export interface AskOptions {
  signal?: AbortSignal | undefined;
  /** A repeated request with the same key takes effect once. */
  idempotencyKey?: string;
  /** For login mutations: the response sets the session cookie. */
  opensSession?: boolean;
  /** The request is sent even when the page is closed immediately afterwards. */
  outlivesPage?: boolean;
}

interface WireError {
  message: string;
  extensions?: {
    code?: string;
    path?: (string | number)[];
    fields?: string[];
    position?: number;
    length?: number;
    conflict?: ApiErrorDetail["conflict"];
  };
}

interface WireAnswer<T> {
  data?: T | null;
  errors?: WireError[];
}

/**
 * Sends one GraphQL operation with the session cookie.
 * @throws ApiError when the response contains errors, UnreachableError when there is no complete response
 */
export async function ask<T>(
  query: string,
  variables: Record<string, unknown> = {},
  options: AskOptions = {},
): Promise<T> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/graphql-response+json",
    "x-office-console": "1",
  };
  if (options.idempotencyKey !== undefined) headers["idempotency-key"] = options.idempotencyKey;
  if (options.opensSession === true) headers["x-session"] = "cookie";
  const request = watchRequest(options.signal);
  let response: Response;
  let answer: WireAnswer<T> | null;
  try {
    response = await fetch("/graphql", {
      method: "POST",
      headers,
      body: JSON.stringify({ query, variables }),
      credentials: "same-origin",
      keepalive: options.outlivesPage === true,
      signal: request.signal,
    });
    // Sent by a proxy whose server does not respond, or by a server that shuts down.
    if ([502, 503, 504].includes(response.status)) throw new Error(`status ${response.status}`);
    request.begin();
    answer = parseAnswer<T>(await response.text());
    // A cut response, or one of a network's login page. The service may have run the operation.
    if (answer === null && response.ok) throw new Error(`status ${response.status} without JSON`);
  } catch (error) {
    throw request.fail(error);
  } finally {
    request.end();
  }
  const correlationId = response.headers.get("x-correlation-id");
  if (answer === null) throw notJson(response.status, correlationId);
  if (answer.errors !== undefined && answer.errors.length > 0)
    throw new ApiError(answer.errors.map(toDetail), correlationId);
  if (answer.data === undefined || answer.data === null) throw new ApiError([], correlationId);
  return answer.data;
}

function parseAnswer<T>(text: string): WireAnswer<T> | null {
  try {
    return JSON.parse(text) as WireAnswer<T>;
  } catch {
    return null;
  }
}

function notJson(status: number, correlationId: string | null): ApiError {
  const detail = {
    message: `The server answered ${status} without JSON.`,
    code: "",
    path: [],
    fields: [],
    position: null,
    length: null,
    conflict: null,
  };
  return new ApiError([detail], correlationId);
}

function toDetail({ message, extensions }: WireError): ApiErrorDetail {
  return {
    message,
    code: extensions?.code ?? "",
    path: extensions?.path ?? [],
    fields: extensions?.fields ?? [],
    position: extensions?.position ?? null,
    length: extensions?.length ?? null,
    conflict: extensions?.conflict ?? null,
  };
}
