import { createHash, randomBytes } from "node:crypto";

const codePattern = /^bol_[A-Za-z0-9_-]{43}$/;
const challengePattern = /^[A-Za-z0-9_-]{43}$/;

/** Makes a code that the browser carries to the front end. Only its hash is stored. */
export function makeLoginCode(): string {
  return `bol_${randomBytes(32).toString("base64url")}`;
}

/** Whether a text can be a login code at all, without asking the database. */
export function isLoginCode(text: string): boolean {
  return codePattern.test(text);
}

/** Whether a text can be the challenge of a login: SHA-256 in base64url. */
export function isChallenge(text: string): boolean {
  return challengePattern.test(text);
}

/** The challenge that belongs to a verifier, as in PKCE with S256. */
export function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}
