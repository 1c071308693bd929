import { type Step, context, sideEffect } from "postgraphile/grafast";

/** The session that a login opened. */
export interface OpenedSession {
  /** Null when it was sent in a cookie. */
  token: string | null;
  /** The user. */
  id: string;
}

/** Moves a login's token from the response to the session cookie if the request asks for it. */
export function moveTokenToCookie($login: Step<OpenedSession | null>): Step<OpenedSession | null> {
  return sideEffect(
    [$login, context().get("requestContext")] as const,
    ([login, { sessionCookie }]) => {
      if (!login?.token || !sessionCookie?.isRequested) return login;
      sessionCookie.set(login.token);
      return { ...login, token: null };
    },
  );
}
