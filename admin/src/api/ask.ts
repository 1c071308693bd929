import { ApiError, type ApiErrorDetail, UnreachableError } from "./errors.ts";

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

/** Whether the server responds. */
type Reachability = "reachable" | "away";
type Listener = (state: Reachability) => void;
const listeners = new Set<Listener>();
let reachability: Reachability = "reachable";

/** Calls `listener` when the server stops responding and when it responds again. Returns a function that unsubscribes. */
export function onReachability(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export const currentReachability = (): Reachability => reachability;

function setReachability(state: Reachability): void {
  if (state === reachability) return;
  reachability = state;
  for (const listener of listeners) listener(state);
}

/**
 * Sends one GraphQL operation with the session cookie.
 * @throws ApiError when the response contains errors, UnreachableError when there is no response
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
  const response = await send({
    method: "POST",
    headers,
    body: JSON.stringify({ query, variables }),
    credentials: "same-origin",
    keepalive: options.outlivesPage === true,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const correlationId = response.headers.get("x-correlation-id");
  const answer = await readAnswer<T>(response);
  if (answer.errors !== undefined && answer.errors.length > 0)
    throw new ApiError(answer.errors.map(toDetail), correlationId);
  if (answer.data === undefined || answer.data === null) throw new ApiError([], correlationId);
  return answer.data;
}

/** The number of requests sent, and that number at the last failure. */
let sent = 0;
let sentAtFailure = 0;

function unreachable(cause: unknown): UnreachableError {
  sentAtFailure = sent;
  setReachability("away");
  return new UnreachableError(cause);
}

async function send(request: RequestInit): Promise<Response> {
  const number = ++sent;
  let response: Response;
  try {
    response = await fetch("/graphql", request);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable(error);
  }
  // Sent by a proxy whose server does not respond, or by a server that shuts down.
  if ([502, 503, 504].includes(response.status))
    throw unreachable(new Error(`status ${response.status}`));
  // A response to an earlier request can arrive after the failure.
  if (number > sentAtFailure) setReachability("reachable");
  return response;
}

async function readAnswer<T>(response: Response): Promise<WireAnswer<T>> {
  const text = await response.text();
  try {
    return JSON.parse(text) as WireAnswer<T>;
  } catch {
    throw new ApiError(
      [
        {
          message: `The server answered ${response.status} without JSON.`,
          code: "",
          path: [],
          fields: [],
          position: null,
          length: null,
          conflict: null,
        },
      ],
      response.headers.get("x-correlation-id"),
    );
  }
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
