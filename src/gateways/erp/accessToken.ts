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
  /** The token's scope, `https://api.businesscentral.dynamics.com/.default`. */
  scope: string;
  timeoutMs: number;
}

export interface AccessTokens {
  /** Returns a valid token. Concurrent callers share one request. */
  get(): Promise<string>;
  /** Discards this token if it is still cached, so that the next caller fetches a new one. */
  discard(token: string): void;
}

// Tokens are replaced before they expire: requests take time, and clocks differ.
const marginMs = 60_000;

/**
 * Fetches access tokens by the OAuth 2.0 client credentials grant and caches each until shortly before it expires.
 * Source: automation-apis-using-s2s-authentication.md of Business Central's documentation.
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
  // The settings allow plain HTTP outside production only.
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- deprecated only as a warning against use in production
  if (tokenUrl.startsWith("http:")) allowInsecureRequests(configuration);

  let current: { token: string; usableUntil: number } | null = null;
  let pending: Promise<string> | null = null;

  const fetchToken = async (): Promise<string> => {
    try {
      const answer = await clientCredentialsGrant(configuration, { scope });
      const lifeMs = (answer.expires_in ?? 0) * 1000;
      if (!/^[\x21-\x7e]+$/.test(answer.access_token))
        throw new ErpAnswerError(
          "The ERP's login service returned a token that no header can hold",
        );
      // A token that lives shorter than twice the margin is used for half of its lifetime.
      const usableMs = Math.max(lifeMs - marginMs, lifeMs / 2);
      current = { token: answer.access_token, usableUntil: performance.now() + usableMs };
      return answer.access_token;
    } catch (error) {
      throw describeFailure(error);
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

/** Describes the failure for staff. Of the endpoint's description only Entra's error number is kept. */
function describeFailure(error: unknown): Error {
  if (error instanceof ErpAnswerError) return error;
  const cause = { cause: withoutResponse(error) };
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
    return new ErpAuthError(`The ERP's login service rejected the credentials: ${answer}`, cause);
  }
  if (status >= 400)
    return new ErpAuthError(`The ERP's login service rejected the credentials: ${status}`, cause);
  if (status > 0)
    return new ErpAnswerError(`The ERP's login service returned no token (${status})`, cause);
  return new ErpUnavailableError("The ERP's login service does not answer", cause);
}

/** The library's errors contain the whole response, which may include a token; only names and codes are kept. */
function withoutResponse(error: unknown): Error {
  const cause = error instanceof Error ? error : new Error("unknown");
  const code = "code" in cause && typeof cause.code === "string" ? ` ${cause.code}` : "";
  return new Error(`${cause.name}${code}`);
}
