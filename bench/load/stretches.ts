/** A stretch of time by this machine's clock, which all its processes share, in milliseconds. */
export interface Stretch {
  from: number;
  until: number;
}

/** What that clock says. */
export function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** How long a stretch is without what `others` cover of it, which may overlap, in milliseconds. */
export function lengthWithout({ from, until }: Stretch, others: readonly Stretch[]): number {
  let left = 0;
  let at = from;
  for (const other of [...others].sort((a, b) => a.from - b.from)) {
    left += Math.max(0, Math.min(other.from, until) - at);
    at = Math.max(at, Math.min(other.until, until));
  }
  return left + Math.max(0, until - at);
}

/** Numbers as a line of text, by which processes tell of theirs. */
export function lineOf(...numbers: number[]): string {
  return `${numbers.join(" ")}\n`;
}

/** The numbers of such lines. */
export function numbersIn(lines: string): number[][] {
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split(" ").map(Number));
}
