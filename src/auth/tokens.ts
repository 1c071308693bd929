import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** The kind of a token. Its prefix tells users and secret scanners the kind. */
export type TokenKind = "session" | "api";

/** The kind of a secret. A calendar feed's secret does not authenticate requests. */
type SecretKind = TokenKind | "calendar";

const prefixes: Record<SecretKind, string> = { session: "bos_", api: "boa_", calendar: "boc_" };
// 256 random bits in base64url and a checksum in eight hexadecimal digits.
const tokenPattern = /^(bos_|boa_|boc_)[A-Za-z0-9_-]{43}[0-9a-f]{8}$/;

/** Creates a secret token. Only its hash is stored. */
export function makeToken(kind: SecretKind): string {
  const body = prefixes[kind] + randomBytes(32).toString("base64url");
  return body + checksum(body);
}

/** The hash of a token; the token itself stays within its request. */
export interface TokenHash {
  kind: TokenKind;
  hash: Buffer;
}

/** The hash of a token; null for a malformed one. */
export function readToken(token: string): TokenHash | null {
  const kind = tokenKind(token);
  return kind && { kind, hash: hashToken(token) };
}

/** The kind of a well-formed token, checksum included; null for anything else, without a database query. */
export function tokenKind(token: string): TokenKind | null {
  if (!isWellFormed(token)) return null;
  if (token.startsWith(prefixes.session)) return "session";
  return token.startsWith(prefixes.api) ? "api" : null;
}

/** Whether a text is the secret of a calendar feed, checksum included, without a database query. */
export function isCalendarToken(text: string): boolean {
  return isWellFormed(text) && text.startsWith(prefixes.calendar);
}

const isWellFormed = (token: string): boolean =>
  tokenPattern.test(token) && checksum(token.slice(0, -8)) === token.slice(-8);

/** SHA-256 suffices for 256 random bits and is fast enough for every request. */
export function hashToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

// Includes login codes (`bol_`); wide on purpose, since removing more does no harm.
const anyToken = /bo[salc]_[\w-]{20,}/g;

/** Whether a text seems to contain a secret of this service. */
export function containsToken(text: string): boolean {
  return text.search(anyToken) >= 0;
}

/** Removes everything that looks like a secret of this service. */
export function redactTokens(text: string): string {
  return text.replace(anyToken, "[left out]");
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}
