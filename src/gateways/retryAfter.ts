const longestWaitMs = 24 * 60 * 60 * 1000;

/**
 * How long a `Retry-After` header asks to wait from `now` on, in milliseconds: it gives seconds or an HTTP date (RFC 9110,
 * 10.2.3); a day at most. Null without the header, or with one that is neither.
 */
export function readRetryAfter(header: string | null, now: number): number | null {
  const text = header?.trim() ?? "";
  if (/^\d{1,15}$/.test(text)) return Math.min(Number(text) * 1000, longestWaitMs);
  // Nothing but a date may follow: Date.parse takes far too much.
  if (!/^[A-Z][a-z]{2,8},? [\w\s:-]+ GMT$/.test(text)) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.min(Math.max(0, at - now), longestWaitMs);
}
