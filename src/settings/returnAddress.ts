const printable = /^[\x21-\x7e]{1,2000}$/;
const host = /^(?:[a-z0-9.-]+|\[[0-9a-f:]+\])$/;
// A server behind the address might undo these once more and read another path.
const ambiguousPath = /%(?:2e|2f|5c|25|00)|\/\/|\\/i;

/**
 * An address in the one spelling that browsers and servers read alike; null for any other: another scheme, a user name, a
 * backslash, a fragment, dots or slashes in disguise, letters of the host in upper case, a needless port.
 */
function canonical(address: string): URL | null {
  if (!printable.test(address) || !URL.canParse(address)) return null;
  const url = new URL(address);
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  if (url.username !== "" || url.password !== "" || address.includes("#")) return null;
  if (!host.test(url.hostname) || url.hostname.endsWith(".") || ambiguousPath.test(url.pathname))
    return null;
  // An address without a path may leave out the slash.
  return url.href === address || url.href === `${address}/` ? url : null;
}

/** Whether an entry of the setting `ALLOWED_RETURN_URLS` can be one: an origin, with a path if wanted, and nothing more. */
export function isReturnPrefix(address: string): boolean {
  const url = canonical(address);
  return url !== null && url.search === "";
}

/**
 * Whether a browser may be sent to `address` after a login: exactly the origin of an allowed address, and its path or one
 * beneath it. A query is free, save for a `code` or `error` of its own.
 */
export function isAllowedReturn(address: string, allowed: readonly string[]): boolean {
  const url = canonical(address);
  if (url === null || url.searchParams.has("code") || url.searchParams.has("error")) return false;
  return allowed.some((entry) => {
    const { origin, pathname } = new URL(entry);
    const beneath = pathname.endsWith("/") ? pathname : `${pathname}/`;
    return url.origin === origin && (url.pathname === pathname || url.pathname.startsWith(beneath));
  });
}

/** The address with the code in its query. */
export function withCode(address: string, code: string): string {
  const url = new URL(address);
  url.searchParams.set("code", code);
  return url.href;
}
