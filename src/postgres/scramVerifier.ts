import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

const iterations = 4096;

/** Whether a password needs no SASLprep normalisation. */
export function isPrintableAscii(password: string): boolean {
  return /^[\x20-\x7e]+$/.test(password);
}

/**
 * The SCRAM-SHA-256 verifier of a password (RFC 5802, RFC 7677). Sent in place of the password, it leaves no usable
 * secret in the database's log.
 * @param password printable ASCII
 */
export function scramVerifier(password: string): string {
  if (!isPrintableAscii(password)) throw new Error("The password is not printable ASCII");
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const keyed = (text: string) => createHmac("sha256", salted).update(text).digest();
  const stored = createHash("sha256").update(keyed("Client Key")).digest("base64");
  const server = keyed("Server Key").toString("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${stored}:${server}`;
}
