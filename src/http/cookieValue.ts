import type { IncomingMessage } from "node:http";

/**
 * The value of a cookie; null unless there is exactly one. Of two with the same name, one may come from another host of the
 * domain.
 */
export function cookieValue({ headers }: Pick<IncomingMessage, "headers">, name: string) {
  const prefix = `${name}=`;
  const values = (headers.cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => pair.slice(prefix.length));
  const [value] = values;
  return values.length === 1 && value !== undefined ? value : null;
}
