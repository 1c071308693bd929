const printable = /^[\x21-\x7e]{1,2000}$/;
const host = /^(?:[a-z0-9.-]+|\[[0-9a-f:]+\])$/;
// A server behind the address might decode these again and read another path.
const ambiguousPath = /%(?:2e|2f|5c|25|00)|\/\/|\\/i;

/**
 * Parses an address that browsers and servers read alike. Null for another scheme, a user name, a backslash, a
 * fragment, encoded dots or slashes, capitals in the host, or a default port.
 */
function canonical(address: string): URL | null {
  if (!printable.test(address) || !URL.canParse(address)) return null;
  const url = new URL(address);
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  if (url.username !== "" || url.password !== "" || address.includes("#")) return null;
  if (!host.test(url.hostname) || url.hostname.endsWith(".") || ambiguousPath.test(url.pathname))
    return null;
  // The slash after the host may be missing.
  return url.href === address || url.href === `${address}/` ? url : null;
}

/** Whether an address can be an entry of `ALLOWED_RETURN_URLS`: an origin with an optional path. */
export function isReturnPrefix(address: string): boolean {
  const url = canonical(address);
  return url !== null && url.search === "";
}

/**
 * Whether a login may redirect to `address`: it has the origin of an allowed address, and its path or one below it. It
 * may have a query without `code` and `error`.
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
