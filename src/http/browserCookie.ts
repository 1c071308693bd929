import { randomBytes } from "node:crypto";
import type { Request, Response } from "express";

const valuePattern = /^[A-Za-z0-9_-]{43}$/;
const lifetimeMs = 10 * 60 * 1000;

// With this prefix a browser takes the cookie from this very host only, not from a neighbour under the same domain.
const nameFor = (secure: boolean) => (secure ? "__Host-office_login" : "office_login");

/**
 * The random value by which a browser that began a login is known again; null without a single well-formed one. It opens
 * nothing: it must meet the state of an attempt that began with it.
 */
export function readBrowserCookie(request: Request, secure: boolean): string | null {
  const prefix = `${nameFor(secure)}=`;
  const values = (request.headers.cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => pair.slice(prefix.length));
  const [value] = values;
  return values.length === 1 && value !== undefined && valuePattern.test(value) ? value : null;
}

/**
 * Gives the browser its value for ten minutes. One that it has already is kept, so that logins begun in several tabs can all
 * be finished.
 */
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
