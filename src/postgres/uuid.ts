const pattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Whether something that was sent is a UUID with its hyphens, as every id of ours is. */
export function isUuid(value: unknown): value is string {
  return typeof value === "string" && pattern.test(value);
}

const storedPattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** A UUID with its hyphens as it is stored, whatever the case in which it was sent; null of what is none. */
export function readUuid(value: unknown): string | null {
  // Ids by the ten thousand come as they are stored, mostly: `toLowerCase` would make a new text of each, and all of them would live.
  if (typeof value === "string" && storedPattern.test(value)) return value;
  return isUuid(value) ? value.toLowerCase() : null;
}

/** An id as it is stored, whatever the case in which it was sent. What is no UUID stays as it is. */
export function storedId(id: string): string {
  return readUuid(id) ?? id;
}
