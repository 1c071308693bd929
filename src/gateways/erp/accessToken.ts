import {
  ClientSecretPost,
  Configuration,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
  allowInsecureRequests,
  clientCredentialsGrant,
  customFetch,
} from "openid-client";
import { boundedFetch } from "../boundedFetch.ts";
import { ErpAnswerError, ErpAuthError, ErpUnavailableError } from "../erp.ts";
import { TooManyRequestsError } from "./attempts.ts";
import { readRetryAfter } from "../retryAfter.ts";

export interface TokenOptions {
  /** The token endpoint of Microsoft Entra ID, `https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token`. */
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  /** What the token is for, `https://api.businesscentral.dynamics.com/.default`. */
  scope: string;
  timeoutMs: number;
}

export interface AccessTokens {
  /** A token that is valid for a while yet. Callers that come while one is fetched share it. */
  get(): Promise<string>;
  /** Makes the next caller fetch a new one, if this one is still the current. */
  discard(token: string): void;
}

// A token is not used to its very end: the request takes its time, and clocks differ.
const marginMs = 60_000;

/**
 * Fetches access tokens by the OAuth 2.0 client credentials grant, as automation-apis-using-s2s-authentication.md of Business
 * Central's documentation describes it, and keeps each until shortly before its end.
 */
export function makeAccessTokens(options: TokenOptions): AccessTokens {
  const { tokenUrl, clientId, clientSecret, scope, timeoutMs } = options;
  const configuration = new Configuration(
    { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl },
    clientId,
    undefined,
    ClientSecretPost(clientSecret),
  );
  configuration.timeout = timeoutMs / 1000;
  configuration[customFetch] = boundedFetch;
  // The settings admit plain HTTP outside production only.
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so only to stand out
  if (tokenUrl.startsWith("http:")) allowInsecureRequests(configuration);

  let current: { token: string; usableUntil: number } | null = null;
  let pending: Promise<string> | null = null;

  const fetchToken = async (): Promise<string> => {
    try {
      const answer = await clientCredentialsGrant(configuration, { scope });
      const lifeMs = (answer.expires_in ?? 0) * 1000;
      // One that lives shorter than twice the margin is used for half of its life.
      const usableMs = Math.max(lifeMs - marginMs, lifeMs / 2);
      current = { token: answer.access_token, usableUntil: performance.now() + usableMs };
      return answer.access_token;
    } catch (error) {
      throw explain(error);
    } finally {
      pending = null;
    }
  };

  return {
    get() {
      if (current && performance.now() < current.usableUntil) return Promise.resolve(current.token);
      return (pending ??= fetchToken());
    },
    discard(token) {
      if (current?.token === token) current = null;
    },
  };
}

/** In words for staff. Descriptions that the endpoint adds are left out but for Entra's error number, which can be looked up. */
function explain(error: unknown): Error {
  const cause = { cause: withoutAnswer(error) };
  const response = error instanceof Error && error.cause instanceof Response ? error.cause : null;
  const status =
    error instanceof ResponseBodyError || error instanceof WWWAuthenticateChallengeError
      ? error.status
      : (response?.status ?? 0);
  if (status === 408 || status === 429 || status >= 500) {
    const headers = error instanceof ResponseBodyError ? error.response.headers : response?.headers;
    const retryAfterMs = readRetryAfter(headers?.get("retry-after") ?? null, Date.now());
    const Unavailable = status === 429 ? TooManyRequestsError : ErpUnavailableError;
    return new Unavailable(`The ERP's login service answered ${status}`, {
      ...cause,
      retryAfterMs,
    });
  }
  if (error instanceof ResponseBodyError) {
    const number = /\bAADSTS\d{1,9}\b/.exec(error.error_description ?? "")?.[0];
    const code = /^[a-z_]{1,60}$/.test(error.error) ? error.error : "an error";
    const answer = number === undefined ? code : `${code}, ${number}`;
    return new ErpAuthError(`The ERP's login service refused our credentials: ${answer}`, cause);
  }
  if (status >= 400)
    return new ErpAuthError(`The ERP's login service refused our credentials: ${status}`, cause);
  if (status > 0)
    return new ErpAnswerError(
      `The ERP's login service gave an answer that is no token (${status})`,
      cause,
    );
  return new ErpUnavailableError("The ERP's login service does not answer", cause);
}

/** The library's errors hold the whole answer, a token among it: only the names of what went wrong go on. */
function withoutAnswer(error: unknown): Error {
  const cause = error instanceof Error ? error : new Error("unknown");
  const code = "code" in cause && typeof cause.code === "string" ? ` ${cause.code}` : "";
  return new Error(`${cause.name}${code}`);
}
