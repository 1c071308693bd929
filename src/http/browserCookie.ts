import { randomBytes } from "node:crypto";
import type { Request, Response } from "express";
import { cookieValue } from "./cookieValue.ts";

const valuePattern = /^[A-Za-z0-9_-]{43}$/;
const lifetimeMs = 10 * 60 * 1000;

// The prefix makes browsers accept the cookie from this host only, not from another host of the domain.
const nameFor = (secure: boolean) => (secure ? "__Host-office_login" : "office_login");

/**
 * The random value that identifies a browser during a login; null unless there is exactly one well-formed value. It
 * grants nothing by itself: the login's state must match.
 */
export function readBrowserCookie(request: Request, secure: boolean): string | null {
  const value = cookieValue(request, nameFor(secure));
  return value !== null && valuePattern.test(value) ? value : null;
}

/** Sets the browser's value for ten minutes. An existing value stays, so that logins in several tabs all finish. */
export function ensureBrowserCookie(request: Request, response: Response, secure: boolean): string {
  const value = readBrowserCookie(request, secure) ?? randomBytes(32).toString("base64url");
  response.cookie(nameFor(secure), value, {
    httpOnly: true,
    sameSite: "lax",
    secure,
    path: "/",
    maxAge: lifetimeMs,
  });
  return value;
}
