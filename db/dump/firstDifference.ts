const shownLines = 5;

/**
 * The first lines in which two texts differ, `-` before those of the old one and `+` before those of the new one, headed by
 * the line's number; undefined when the texts are equal.
 */
export function firstDifference(before: string, after: string): string | undefined {
  if (before === after) return undefined;
  const old = before.split("\n");
  const fresh = after.split("\n");
  const start = old.findIndex((line, index) => line !== fresh[index]);
  const at = start < 0 ? old.length : start;
  let common = 0;
  while (
    common < Math.min(old.length, fresh.length) - at &&
    old[old.length - 1 - common] === fresh[fresh.length - 1 - common]
  )
    common += 1;
  return [
    `  line ${at + 1}:`,
    ...shorten(old.slice(at, old.length - common), "-"),
    ...shorten(fresh.slice(at, fresh.length - common), "+"),
  ].join("\n");
}

function shorten(lines: readonly string[], sign: string): string[] {
  const shown = lines.slice(0, shownLines).map((line) => `  ${sign} ${line}`);
  return lines.length > shownLines
    ? [...shown, `  ${sign} ... and ${lines.length - shownLines} more lines`]
    : shown;
}
