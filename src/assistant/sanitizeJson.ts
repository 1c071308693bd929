/** Serializes a value as JSON that PostgreSQL accepts: without NUL and unpaired surrogates. */
export function sanitizeJson(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one === "string" ? one.replaceAll("\0", "\ufffd").toWellFormed() : one,
  );
}
