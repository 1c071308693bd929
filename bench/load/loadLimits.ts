import type { Outcome } from "./client.ts";

/** A percentile of the list; NaN for an empty one. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? NaN;
}

const ms = (value: number) => value.toFixed(1);
const exceeded: string[] = [];

/** Prints and stores whether a value is within its limit. */
export function checkAtMost(what: string, value: number, atMost: number, unit: string): void {
  // A missing measurement counts as exceeded.
  const holds = value <= atMost;
  const line = `${what}: ${value.toFixed(1)} ${unit}, promised at most ${atMost}`;
  console.log(`  ${holds ? "holds " : "BROKEN"}  ${line}`);
  if (!holds) exceeded.push(line);
}

/** The same for a lower limit. */
export function checkAtLeast(what: string, value: number, atLeast: number, unit: string): void {
  const holds = value >= atLeast;
  const line = `${what}: ${value.toFixed(1)} ${unit}, promised at least ${atLeast.toFixed(1)}`;
  console.log(`  ${holds ? "holds " : "BROKEN"}  ${line}`);
  if (!holds) exceeded.push(line);
}

export function exceededLimits(): readonly string[] {
  return exceeded;
}

/** Prints statuses and times. */
export function printOutcomes(outcomes: readonly Outcome[], seconds: number): void {
  const statuses = new Map<string, number>();
  for (const { status, failed } of outcomes) {
    const name = status === 0 ? "no answer" : failed ? `${status} with errors` : String(status);
    statuses.set(name, (statuses.get(name) ?? 0) + 1);
  }
  const counted = [...statuses].map(([name, count]) => `${name}: ${count}`).join(", ");
  console.log(
    `  ${outcomes.length} requests, ${(outcomes.length / seconds).toFixed(0)}/s; ${counted}`,
  );
  for (const [name, writes] of [
    ["reads", false],
    ["writes", true],
  ] as const) {
    const times = successful(outcomes)
      .filter((outcome) => outcome.writes === writes)
      .map((outcome) => outcome.ms);
    if (times.length > 0)
      console.log(
        `  ${name.padEnd(6)} p50 ${ms(percentile(times, 0.5))} ms, p99 ${ms(percentile(times, 0.99))} ms, most ${ms(Math.max(...times.slice(-100_000)))} ms`,
      );
  }
  const [first] = outcomes.filter(({ text }) => text !== "" && !/UNAVAILABLE/.test(text));
  if (first) console.log(`  the first failure: ${first.status} ${first.text}`);
}

/** The successful requests. */
export function successful(outcomes: readonly Outcome[]): readonly Outcome[] {
  return outcomes.filter(({ status, failed }) => status === 200 && !failed);
}

/** The limits under the intended load. */
export function checkOrdinaryLimits(outcomes: readonly Outcome[], share = 0.99): void {
  const good = successful(outcomes);
  checkAtMost("requests that failed", outcomes.length - good.length, 0, "");
  const times = (writes: boolean) =>
    good.filter((outcome) => outcome.writes === writes).map((outcome) => outcome.ms);
  checkAtMost("reads p99", percentile(times(false), share), 150, "ms");
  checkAtMost("writes p99", percentile(times(true), share), 300, "ms");
}

/** Prints the outcomes in intervals of this many seconds. */
export function printTimeline(outcomes: readonly Outcome[], seconds: number): void {
  const start = Math.min(...outcomes.slice(0, 100).map(({ due }) => due));
  const spans = Map.groupBy(outcomes, ({ due }) => Math.floor((due - start) / 1000 / seconds));
  const cells = [...spans]
    .toSorted(([a], [b]) => a - b)
    .map(([, within]) => {
      const good = successful(within);
      const p99 = percentile(
        good.map((outcome) => outcome.ms),
        0.99,
      );
      return `${p99.toFixed(0)}${good.length < within.length ? ` (${within.length - good.length} failed)` : ""}`;
    });
  console.log(`  p99 in each ${seconds} s: ${cells.join(", ")} ms`);
}
