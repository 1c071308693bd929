/** An interval in milliseconds by the machine's monotonic clock, which all processes share. */
export interface Interval {
  from: number;
  until: number;
}

/** The current time of that clock. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The duration of an interval without the parts that `others` cover, in milliseconds; these may overlap. */
export function durationWithout({ from, until }: Interval, others: readonly Interval[]): number {
  let left = 0;
  let at = from;
  for (const other of [...others].sort((a, b) => a.from - b.from)) {
    left += Math.max(0, Math.min(other.from, until) - at);
    at = Math.max(at, Math.min(other.until, until));
  }
  return left + Math.max(0, until - at);
}

/** Formats numbers as a line of text for another process. */
export function formatLine(...numbers: number[]): string {
  return `${numbers.join(" ")}\n`;
}

/** Parses such lines. */
export function parseLines(lines: string): number[][] {
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split(" ").map(Number));
}
