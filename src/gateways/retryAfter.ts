const maxDelayMs = 24 * 60 * 60 * 1000;

/**
 * The delay of a `Retry-After` header in milliseconds, at most a day: seconds or an HTTP date (RFC 9110, 10.2.3). Null
 * without a valid header.
 */
export function readRetryAfter(header: string | null, now: number): number | null {
  const text = header?.trim() ?? "";
  if (/^\d{1,15}$/.test(text)) return Math.min(Number(text) * 1000, maxDelayMs);
  // Only an HTTP date is accepted: Date.parse accepts too much.
  if (!/^[A-Z][a-z]{2,8},? [\w\s:-]+ GMT$/.test(text)) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.min(Math.max(0, at - now), maxDelayMs);
}
