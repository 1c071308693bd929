/** The most lines of a stack trace in a report. */
const maxLines = 12;

/**
 * Describes a failure without personal data: quoted texts and the rest of addresses are removed, because they can
 * contain values of rows. `routeId` is the pattern of the address.
 */
export function crashReport(error: unknown, routeId: string): string {
  const { name, message, stack = "" } = error instanceof Error ? error : new Error(String(error));
  const frames = stack
    .split("\n")
    .filter((line) => /^\s*at |@/.test(line) && !line.includes(message))
    .slice(0, maxLines);
  return [
    `${name}: ${message.replaceAll(/"[^"]*"|“[^”]*”|\S+@\S+/g, "…")}`,
    `page ${routeId}`,
    `time ${new Date().toISOString()}`,
    ...frames.map((line) => line.replaceAll(/\?[^:)\s]*/g, "")),
  ].join("\n");
}
