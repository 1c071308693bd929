const pattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Whether something that was sent is a UUID with its hyphens, as every id of ours is. */
export function isUuid(value: unknown): value is string {
  return typeof value === "string" && pattern.test(value);
}

/** An id as it is stored, whatever the case in which it was sent. What is no UUID stays as it is. */
export function storedId(id: string): string {
  return isUuid(id) ? id.toLowerCase() : id;
}
