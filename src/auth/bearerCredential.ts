import { readToken, type TokenHash } from "./tokens.ts";

/** The credential in the Authorization headers. */
interface BearerCredential {
  /** Null unless there is exactly one well-formed token. */
  token: TokenHash | null;
  /** Whether a Bearer header was sent, well formed or not. Other schemes count as no credential. */
  isSent: boolean;
}

export function bearerCredential(rawHeaders: readonly string[]): BearerCredential {
  const given = rawHeaders.filter((_value, index) => {
    const name = rawHeaders[index - 1];
    return index % 2 === 1 && name?.toLowerCase() === "authorization";
  });
  const match =
    given.length === 1 ? /^Bearer +([A-Za-z0-9_-]{20,200}) *$/i.exec(given[0] ?? "") : null;
  return {
    token: match?.[1] === undefined ? null : readToken(match[1]),
    isSent: given.some((value) => /^Bearer(?: |$)/i.test(value)),
  };
}
