import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** What a token opens; its prefix says so, for people and for scanners of leaked secrets. */
export type TokenKind = "session" | "api";

const prefixes: Record<TokenKind, string> = { session: "bos_", api: "boa_" };
// 256 random bits in base64url, then the checksum of all before it in eight hexadecimal digits.
const tokenPattern = /^(bos_|boa_)[A-Za-z0-9_-]{43}[0-9a-f]{8}$/;

/** Makes a new secret token. Only its hash is ever stored. */
export function makeToken(kind: TokenKind): string {
  const body = prefixes[kind] + randomBytes(32).toString("base64url");
  return body + checksum(body);
}

/** A token as it is looked up; the token itself goes no further than the request that it came with. */
export interface TokenHash {
  kind: TokenKind;
  hash: Buffer;
}

/** What to look a token up by; null for one that is malformed, which nobody holds. */
export function readToken(token: string): TokenHash | null {
  const kind = tokenKind(token);
  return kind && { kind, hash: hashToken(token) };
}

/** The kind of a token that is well formed, checksum included; null for anything else, without asking the database. */
export function tokenKind(token: string): TokenKind | null {
  if (!tokenPattern.test(token) || checksum(token.slice(0, -8)) !== token.slice(-8)) return null;
  return token.startsWith(prefixes.session) ? "session" : "api";
}

/** SHA-256: enough for a token of 256 random bits, and quick enough for every request. */
export function hashToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

// Also those of logins (`bol_`); generous, since more than a token left out does no harm.
const anyToken = /bo[sal]_[\w-]{20,}/g;

/** Whether something in a text looks like one of our secrets. */
export function holdsToken(text: string): boolean {
  return text.search(anyToken) >= 0;
}

/** A text in which nothing that looks like one of our secrets is left. */
export function withoutTokens(text: string): string {
  return text.replace(anyToken, "[left out]");
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}
