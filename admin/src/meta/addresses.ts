/** The address that a text holds: http, https, or a path of this server; null for any other text, such as a script. */
export function webAddress(text: string): URL | null {
  if (!/^(?:https?:\/\/|\/)\S+$/i.test(text) || !URL.canParse(text, location.origin)) return null;
  return new URL(text, location.origin);
}

/** The address of a picture that the page's Content-Security-Policy lets it load; null for any other text. */
export function pictureAddress(text: string, origins: readonly string[]): string | null {
  const address = webAddress(text);
  return address && [location.origin, ...origins].includes(address.origin) ? address.href : null;
}

/** A short text for an address: the name of the file, otherwise the host; null for any other text. */
export function shortAddress(text: string): string | null {
  const address = webAddress(text);
  if (address === null) return null;
  const file = address.pathname.split("/").at(-1) ?? "";
  if (file === "") return address.host;
  try {
    return decodeURIComponent(file);
  } catch {
    // The path contains a percent sign that is no escape.
    return file;
  }
}
