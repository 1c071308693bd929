const shownLines = 5;
const farthest = 300;
/** So many equal lines in a row end a difference: one alone, such as `);`, stands everywhere. */
const enough = 3;

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
  const [gone, come] = findEnd(old.slice(at), fresh.slice(at));
  return [
    `  line ${at + 1}:`,
    ...shorten(old.slice(at, at + gone), "-"),
    ...shorten(fresh.slice(at, at + come), "+"),
  ].join("\n");
}

/** How many lines of each text to pass over until both go on alike; all of them when they never do. */
function findEnd(old: readonly string[], fresh: readonly string[]): [number, number] {
  for (let sum = 1; sum <= farthest; sum += 1) {
    for (let gone = Math.min(sum, old.length); gone >= 0; gone -= 1) {
      const come = sum - gone;
      if (come <= fresh.length && alike(old, gone, fresh, come)) return [gone, come];
    }
  }
  return [old.length, fresh.length];
}

function alike(old: readonly string[], from: number, fresh: readonly string[], at: number) {
  const left = Math.max(old.length - from, fresh.length - at);
  for (let index = 0; index < Math.min(enough, left); index += 1)
    if (old[from + index] !== fresh[at + index]) return false;
  return true;
}

function shorten(lines: readonly string[], sign: string): string[] {
  const shown = lines.slice(0, shownLines).map((line) => `  ${sign} ${line}`);
  return lines.length > shownLines
    ? [...shown, `  ${sign} ... and ${lines.length - shownLines} more lines`]
    : shown;
}
