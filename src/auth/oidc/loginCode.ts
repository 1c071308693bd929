import { createHash, randomBytes } from "node:crypto";

const codePattern = /^bol_[A-Za-z0-9_-]{43}$/;
const challengePattern = /^[A-Za-z0-9_-]{43}$/;

/** Creates a code that the browser passes to the front end. Only its hash is stored. */
export function makeLoginCode(): string {
  return `bol_${randomBytes(32).toString("base64url")}`;
}

/** Whether a text has the form of a login code. */
export function isLoginCode(text: string): boolean {
  return codePattern.test(text);
}

/** Whether a text has the form of a challenge: SHA-256 in base64url. */
export function isChallenge(text: string): boolean {
  return challengePattern.test(text);
}

/** The S256 challenge of a verifier, as in PKCE. */
export function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}
