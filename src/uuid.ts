const pattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Whether something that was sent is a UUID with its hyphens, as every id of ours is. */
export function isUuid(value: unknown): value is string {
  return typeof value === "string" && pattern.test(value);
}

const storedPattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** An id as it is stored, whatever the case in which it was sent. What is no UUID stays as it is. */
export function storedId(id: string): string {
  // Ids by the ten thousand come as they are stored, mostly: `toLowerCase` would make a new text of each, and all of them would live.
  if (storedPattern.test(id)) return id;
  return isUuid(id) ? id.toLowerCase() : id;
}
