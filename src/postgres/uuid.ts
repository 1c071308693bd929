const pattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Whether a value is a UUID with hyphens, as all ids are. */
export function isUuid(value: unknown): value is string {
  return typeof value === "string" && pattern.test(value);
}

const storedPattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** The canonical lower-case form of a UUID with hyphens; null for other values. */
export function readUuid(value: unknown): string | null {
  // Ids by the ten thousand are mostly canonical: `toLowerCase` would allocate a string for each.
  if (typeof value === "string" && storedPattern.test(value)) return value;
  return isUuid(value) ? value.toLowerCase() : null;
}

/** The canonical form of an id; other texts stay unchanged. */
export function storedId(id: string): string {
  return readUuid(id) ?? id;
}
