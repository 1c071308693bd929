import type { CookieOptions, Request, Response } from "express";
import type { SessionCookie } from "../auth/identity.ts";
import { type TokenHash, readToken } from "../auth/tokens.ts";
import { badUserInput } from "../errors/PublicError.ts";
import { cookieValue } from "./cookieValue.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** Reads and sets the cookie with the session token of a browser. Scripts cannot read it. */
export interface SessionCookies {
  /**
   * The token of the request's cookie. Null unless the request comes from a page of this server: `Authorization` is not sent,
   * the browser names the same origin, and all but GET and HEAD have the header `X-Office-Console: 1`.
   */
  read(request: Request): TokenHash | null;
  set(response: Response, token: string): void;
  /**
   * How operations use the cookie.
   * @throws PublicError when the header `X-Session` is not `cookie`
   */
  of(request: Request, response: Response): SessionCookie;
}

interface SessionCookieOptions {
  production: boolean;
  /** The address at which browsers reach the server; known when it listens. */
  publicUrl: () => string;
  /** The longest life of a session, in days. */
  maxDays: number;
}

export function makeSessionCookies(options: SessionCookieOptions): SessionCookies {
  const { production, publicUrl, maxDays } = options;
  const isSecure = () => production || publicUrl().startsWith("https:");
  // The prefix makes browsers accept the cookie from this host only, not from another host of the domain.
  const name = () => (isSecure() ? "__Host-office_session" : "office_session");
  const attributes = (): CookieOptions => ({
    httpOnly: true,
    sameSite: "strict",
    secure: isSecure(),
    path: "/",
  });

  const isSameOrigin = ({ headers, protocol, method }: Request) => {
    const site = headers["sec-fetch-site"];
    if (site !== undefined) return site === "same-origin";
    // Browsers send no Sec-Fetch-Site to http addresses other than localhost, and no Origin with their own GET requests.
    const { origin } = headers;
    if (origin === undefined || isSafe(method)) return false;
    return (
      origin === new URL(publicUrl()).origin || origin === `${protocol}://${headers.host ?? ""}`
    );
  };

  const read = (request: Request) => {
    const { headers, method } = request;
    if (headers.cookie === undefined || headers.authorization !== undefined) return null;
    if (!isSameOrigin(request)) return null;
    // Forms cannot send a header, and scripts of other origins only after a preflight, which allows no credentials.
    if (!isSafe(method) && headers["x-office-console"] !== "1") return null;
    const token = readToken(cookieValue(request, name()) ?? "");
    return token?.kind === "session" ? token : null;
  };

  const set = (response: Response, token: string) => {
    response.cookie(name(), token, { ...attributes(), maxAge: maxDays * dayMs });
  };

  return {
    read,
    set,
    of(request, response) {
      const wanted = request.headers["x-session"];
      if (wanted !== undefined && wanted !== "cookie")
        throw badUserInput("X-Session must be cookie", { header: "X-Session" });
      return {
        isRequested: wanted === "cookie",
        set: (token) => {
          set(response, token);
        },
        clear: () => {
          // A cookie that is not the credential of the request belongs to another session.
          if (!response.headersSent && read(request)) response.clearCookie(name(), attributes());
        },
      };
    },
  };
}

function isSafe(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
