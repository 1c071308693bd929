/** A stretch of time by this machine's clock, which all its processes share, in milliseconds. */
export interface Stretch {
  from: number;
  until: number;
  /** How much of it a thread that was late was on a processor. */
  worked?: number;
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

/** What stretches of both kinds cover. */
export function inBoth(some: readonly Stretch[], others: readonly Stretch[]): Stretch[] {
  return some.flatMap((one) =>
    others
      .map((other) => ({
        from: Math.max(one.from, other.from),
        until: Math.min(one.until, other.until),
      }))
      .filter(({ from, until }) => from < until),
  );
}

/** A stretch as a line of text, by which processes tell of theirs. */
export function lineOf({ from, until, worked = 0 }: Stretch): string {
  return `${from} ${until} ${worked}\n`;
}

/** The stretches that such lines tell of. */
export function stretchesIn(lines: string): Stretch[] {
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [from = NaN, until = NaN, worked = NaN] = line.split(" ").map(Number);
      return { from, until, worked };
    });
}
