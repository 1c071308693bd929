/** The SHA-256 of a file in hexadecimal digits, computed off the event loop. */
export async function sha256(bytes: Buffer): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Buffer.from(digest).toString("hex");
}
