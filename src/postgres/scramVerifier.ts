import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

const iterations = 4096;

/** Whether a verifier can be made of a password here: nothing in it would have to be brought into another form first. */
export function isPrintableAscii(password: string): boolean {
  return /^[\x20-\x7e]+$/.test(password);
}

/**
 * What PostgreSQL keeps of a password (SCRAM-SHA-256, RFC 5802 and 7677): set in place of the password, it leaves nothing to log in with
 * in the database's log or statistics.
 * @param password of printable ASCII, whose bytes need no preparation
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
