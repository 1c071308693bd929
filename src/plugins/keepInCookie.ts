import { type Step, context, sideEffect } from "postgraphile/grafast";

/** The session that a login opened. */
export interface OpenedSession {
  /** Null when the browser got it in a cookie. */
  token: string | null;
  /** The user. */
  id: string;
}

/** Moves the token of a login from the answer to the session cookie, when the request wants that. */
export function keepInCookie($login: Step<OpenedSession | null>): Step<OpenedSession | null> {
  return sideEffect(
    [$login, context().get("requestContext")] as const,
    ([login, { sessionCookie }]) => {
      if (!login?.token || !sessionCookie?.isWanted) return login;
      sessionCookie.set(login.token);
      return { ...login, token: null };
    },
  );
}
