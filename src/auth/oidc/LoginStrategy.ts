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

/** The secrets that are stored between the redirect to the provider and its callback. */
export interface AttemptSecrets {
  state: string;
  nonce: string;
  pkceVerifier: string;
}

/** The validated tokens of a provider. */
export type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

export interface LoginStrategyOptions {
  config: Configuration;
  callbackUrl: string;
  scope: string;
  /** Stores a new attempt; then the browser is redirected to the provider. */
  remember: (attempt: AttemptSecrets) => Promise<void>;
}

const sessionKey = "attempt";

/**
 * Passport's strategy for OpenID Connect, one instance per request. It always sends state and nonce beside PKCE, and
 * stores its secrets through `remember` instead of a server session, so that any server can handle the callback.
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

  /** The callback under the registered address; the Host header is ignored. */
  override currentUrl(request: Request): URL {
    const url = new URL(this.#options.callbackUrl);
    url.search = queryOf(request);
    return url;
  }

  /** A request with a stored attempt is a callback; its query does not matter. */
  override shouldInitiateAuthRequest(request: Request): boolean {
    return sessionOf(request)[sessionKey] === undefined;
  }

  override authenticate(...args: Parameters<Strategy["authenticate"]>): void {
    const [request] = args;
    // Passport puts its actions on this object, which serves one request; its types leave that out.
    const actions = this as this & {
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

/** The query string of a request as sent, with its question mark. */
export function queryOf(request: Request): string {
  const start = request.originalUrl.indexOf("?");
  return start < 0 ? "" : request.originalUrl.slice(start);
}

/** Gives the strategy a session object for one request, with the stored attempt. */
export function attachSession(request: Request, remembered?: AttemptSecrets): void {
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

/** The object of `attachSession`. Express types have no session without a session library. */
function sessionOf(request: Request): Record<string, unknown> {
  return (request as Request & { session: Record<string, unknown> }).session;
}
