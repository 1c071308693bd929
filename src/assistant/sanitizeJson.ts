/** A value as JSON that the database can hold, whatever texts a model has made up: without NUL and without halves of characters. */
export function sanitizeJson(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one === "string" ? one.replaceAll("\0", "\ufffd").toWellFormed() : one,
  );
}
