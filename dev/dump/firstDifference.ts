const shownLines = 5;
const maxChangedLines = 300;
/** Consecutive equal lines that end a difference. A single line such as `);` is too common. */
const minEqualLines = 3;

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
  const [removed, added] = findEnd(old.slice(at), fresh.slice(at));
  return [
    `  line ${at + 1}:`,
    ...shorten(old.slice(at, at + removed), "-"),
    ...shorten(fresh.slice(at, at + added), "+"),
  ].join("\n");
}

/** The number of lines to skip in each text until both continue with equal lines; all lines when they never do. */
function findEnd(old: readonly string[], fresh: readonly string[]): [number, number] {
  for (let sum = 1; sum <= maxChangedLines; sum += 1) {
    for (let removed = Math.min(sum, old.length); removed >= 0; removed -= 1) {
      const added = sum - removed;
      if (added <= fresh.length && hasEqualLines(old, removed, fresh, added))
        return [removed, added];
    }
  }
  return [old.length, fresh.length];
}

function hasEqualLines(old: readonly string[], from: number, fresh: readonly string[], at: number) {
  const left = Math.max(old.length - from, fresh.length - at);
  for (let index = 0; index < Math.min(minEqualLines, left); index += 1)
    if (old[from + index] !== fresh[at + index]) return false;
  return true;
}

function shorten(lines: readonly string[], sign: string): string[] {
  const shown = lines.slice(0, shownLines).map((line) => `  ${sign} ${line}`);
  return lines.length > shownLines
    ? [...shown, `  ${sign} ... and ${lines.length - shownLines} more lines`]
    : shown;
}
