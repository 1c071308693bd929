import type { Request } from "express";
import { randomNonce, randomState } from "openid-client";
import type {
  Configuration,
  TokenEndpointResponse,
  TokenEndpointResponseHelpers,
} from "openid-client";
import { Strategy } from "openid-client/passport";
import type { AuthenticateOptions } from "openid-client/passport";
import { z } from "zod";

const attempt = z.object({
  state: z.string().min(1),
  nonce: z.string().min(1),
  code_verifier: z.string().min(1),
});

/** What must be remembered between sending a browser to the provider and its coming back. */
export interface AttemptSecrets {
  state: string;
  nonce: string;
  pkceVerifier: string;
}

/** The tokens that a provider gave for a code, already checked. */
export type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

export interface LoginStrategyOptions {
  config: Configuration;
  callbackUrl: string;
  scope: string;
  /** Remembers a new attempt; the browser is sent to the provider when that is done. */
  remember: (attempt: AttemptSecrets) => Promise<void>;
}

const sessionKey = "attempt";

/**
 * Passport's strategy for OpenID Connect, made anew for each request, with two differences: it always sends state and nonce
 * beside PKCE, and what it would keep in a server's session is kept by `remember` instead, so that any server process can
 * take the answer.
 */
export class LoginStrategy extends Strategy {
  readonly #options: LoginStrategyOptions;

  constructor(options: LoginStrategyOptions) {
    super(
      {
        config: options.config,
        name: "login",
        sessionKey,
        callbackURL: options.callbackUrl,
        scope: options.scope,
      },
      (tokens: Tokens, verified) => {
        verified(null, { tokens });
      },
    );
    this.#options = options;
  }

  override authorizationRequestParams(request: Request, options: AuthenticateOptions) {
    const params = new URLSearchParams(super.authorizationRequestParams(request, options));
    params.set("state", randomState());
    params.set("nonce", randomNonce());
    return params;
  }

  /** The answer as it came, under the registered address: what the request says of its host counts for nothing. */
  override currentUrl(request: Request): URL {
    const url = new URL(this.#options.callbackUrl);
    url.search = queryOf(request);
    return url;
  }

  /** An answer is what meets a remembered attempt, whatever stands in the query. */
  override shouldInitiateAuthRequest(request: Request): boolean {
    return sessionOf(request)[sessionKey] === undefined;
  }

  override authenticate(...args: Parameters<Strategy["authenticate"]>): void {
    const [request] = args;
    // Passport has put its actions on this object, which serves this one request; its types do not say so.
    const actions = this as unknown as {
      redirect: (url: string, status?: number) => void;
      error: (error: unknown) => void;
    };
    const { redirect } = actions;
    actions.redirect = (url, status) => {
      const made = attempt.parse(sessionOf(request)[sessionKey]);
      const secrets = { state: made.state, nonce: made.nonce, pkceVerifier: made.code_verifier };
      this.#options.remember(secrets).then(
        () => redirect.call(this, url, status),
        (error: unknown) => actions.error(error),
      );
    };
    super.authenticate.apply(actions as never, args);
  }
}

/** The query of a request as it was sent, with its question mark. */
export function queryOf(request: Request): string {
  const start = request.originalUrl.indexOf("?");
  return start < 0 ? "" : request.originalUrl.slice(start);
}

/** Gives the strategy a session for the length of one request, holding what was remembered of the attempt. */
export function lendSession(request: Request, remembered?: AttemptSecrets): void {
  (request as { session?: unknown }).session = remembered
    ? {
        [sessionKey]: {
          state: remembered.state,
          nonce: remembered.nonce,
          code_verifier: remembered.pkceVerifier,
        },
      }
    : {};
}

/** What `lendSession` lent. Express knows a session only with a session library's types, and this is none. */
function sessionOf(request: Request): Record<string, unknown> {
  return (request as unknown as { session: Record<string, unknown> }).session;
}
