import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { stolenSince, ticks } from "../compare/processes.ts";
import { type Outcome, type Sent, after, makeClient } from "./client.ts";
import { type Fleet, startFleet } from "./fleet.ts";
import { largeQuery } from "./largeQueries.ts";
import { sampleEventLoopDelay } from "./eventLoopDelay.ts";
import { makeMix } from "./mix.ts";
import {
  successful,
  exceededLimits,
  percentile,
  checkAtMost,
  checkAtLeast,
  checkOrdinaryLimits,
  printOutcomes,
  printTimeline,
} from "./loadLimits.ts";
import { startProbe } from "./probeClient.ts";
import { prepareBackgroundWork } from "./backgroundWork.ts";
import { openSlowly } from "./slowConnections.ts";
import { monitorPauses } from "./machinePauses.ts";
import { monotonicMs, durationWithout } from "./intervals.ts";

// `npm run test:load`: the whole service on a full database under external load; exits with 1 when a limit is exceeded.
// V8 has one helper thread here too (`--v8-pool-size=1`), because more would compete with the server for the processors.
//   npm run test:load -- [--minutes 10] [--rate 100] [--soak 200000] [--only steady,overload,beside,large,slow,documents,soak] [--scale 1] [--pool 10]
// `--soak` sends this many mixed requests at the end; the default is none. `--scale 0.1` uses a tenth of the rows; `--pool` is
// DATABASE_POOL_SIZE: on the same cores, each active database process takes as much of them as the server.

const { values: flags } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    rate: { type: "string", default: "100" },
    soak: { type: "string", default: "0" },
    only: { type: "string", default: "steady,overload,beside,large,slow,documents,soak" },
    scale: { type: "string", default: "1" },
    pool: { type: "string" },
  },
});
const rate = Number(flags.rate);
const soakRequests = Number(flags.soak);
const chosen = new Set(flags.only.split(","));
const begun = performance.now();

const fleet = await startFleet(
  Number(flags.scale),
  flags.pool === undefined ? {} : { DATABASE_POOL_SIZE: flags.pool },
);
const pauseMonitor = await monitorPauses();
const client = makeClient(fleet.url, fleet.token);
let offset = 0;
const mixed = makeMix(fleet.size);
/** Each phase continues the sequence of the previous one. */
const next = (): Sent => mixed(offset++);

try {
  // Warms up plans, caches and compiled code.
  await client.asFastAs(8, after(10), next, () => undefined);
  if (chosen.has("steady")) await steady();
  if (chosen.has("overload")) await overload();
  if (chosen.has("beside")) await beside(false);
  if (chosen.has("large")) await beside(true);
  if (chosen.has("slow")) await slow();
  if (chosen.has("documents")) await documents();
  if (chosen.has("soak") && soakRequests > 0) await soak();
} finally {
  client.close();
  pauseMonitor.stop();
  await fleet.stop();
}
console.log(`\n${((performance.now() - begun) / 60_000).toFixed(1)} minutes`);
for (const line of exceededLimits()) console.log(`BROKEN: ${line}`);
process.exit(exceededLimits().length > 0 ? 1 : 0);

/** The event loop's delay while `work` runs; each read starts a new measurement. */
async function watched<T>(
  work: () => Promise<T>,
): Promise<{ result: T; figures: Awaited<ReturnType<Fleet["look"]>>; longest: number | null }> {
  const before = await fleet.look();
  const from = offset;
  const since = new Date();
  const start = monotonicMs();
  const ticksBefore = ticks();
  const result = await work();
  const stolen = stolenSince(ticksBefore);
  const figures = await fleet.look();
  const { p99, most } = figures.eventLoop;
  const { rows } = await fleet.pool.query<{ count: number }>(
    "select count(*)::integer as count from audit_log where created_at >= $1",
    [since],
  );
  console.log(
    `  ${((rows[0]?.count ?? NaN) / (offset - from)).toFixed(2)} audit rows for each request`,
  );
  const perRequest = (of: "cpu" | "databaseCpu") =>
    (((figures[of] - before[of]) / (offset - from)) * 1000).toFixed(2);
  console.log(
    `  processor time for each request: server ${perRequest("cpu")} ms, database ${perRequest("databaseCpu")} ms (with what the workers do there)`,
  );
  console.log(
    `  event loop late p99 ${p99.toFixed(1)} ms, most ${most.toFixed(1)} ms; memory ${figures.memory.toFixed(0)} MB; ${(stolen * 100).toFixed(0)} % of the processors went to others on the host`,
  );
  return { result, figures, longest: await longestDelay(start) };
}

/**
 * The server's longest delay since then in milliseconds, without pauses of its processor; null when these are unknown.
 */
async function longestDelay(start: number): Promise<number | null> {
  const still = pauseMonitor.pauses()?.map((pauses) => pauses.filter(({ until }) => until > start));
  if (!still) {
    console.log(
      "  whether the machine itself stood still is not known: to see that takes the right to come before all else on it",
    );
    return null;
  }
  const [longest] = (await fleet.delays())
    .filter(({ from }) => from > start)
    .map((delay) => ({ ...delay, length: durationWithout(delay, still[delay.processor] ?? []) }))
    .sort((a, b) => b.length - a.length);
  const pauseTexts = still.map((pauses) => {
    const most = Math.max(0, ...pauses.map(({ from, until }) => until - from));
    return `${pauses.length} times, for at most ${most.toFixed(1)} ms`;
  });
  console.log(
    `  the machine's processors stood still themselves ${pauseTexts.join(", and ")}; without that the event loop was late by at most ${(longest?.length ?? 0).toFixed(1)} ms, while the main thread had a processor for ${(longest?.worked ?? 0).toFixed(1)}`,
  );
  return longest?.length ?? 0;
}

async function steady(): Promise<void> {
  const seconds = Number(flags.minutes) * 60;
  console.log(`\n${rate} mixed requests a second for ${flags.minutes} minutes`);
  const { result, figures } = await watched(() => client.atRate(rate, after(seconds), next));
  printOutcomes(result, seconds);
  printTimeline(result, 20);
  checkOrdinaryLimits(result);
  checkAtMost("event loop p99", figures.eventLoop.p99, 30, "ms");
}

async function overload(): Promise<void> {
  const seconds = 20;
  console.log(`\nWhat it can carry: 32 connections for ${seconds} s`);
  const best: Outcome[] = [];
  await watched(() => client.asFastAs(32, after(seconds), next, (outcome) => best.push(outcome)));
  printOutcomes(best, seconds);
  const most = successful(best).length / seconds;

  console.log(`\nThree times that: ${(most * 3).toFixed(0)} a second for ${seconds} s`);
  let sending = true;
  const late = sampleEventLoopDelay();
  const stopProbe = startProbe(fleet.url, fleet.token);
  const { result } = await watched(() =>
    client.atRate(most * 3, after(seconds), next).finally(() => {
      sending = false;
    }),
  );
  const one = await stopProbe();
  const good = successful(result).length / seconds;
  const refusals = refused(result);
  printOutcomes(result, seconds);
  checkAtLeast("answered a second, of the best 60 %", good, most * 0.6, "");
  checkAtMost(
    "neither answered nor refused",
    result.length - successful(result).length - refusals.length,
    0,
    "",
  );
  const times = (outcomes: readonly Outcome[], share: number) =>
    percentile(
      refused(outcomes).map(({ answeredIn }) => answeredIn),
      share,
    );
  for (const [who, outcomes, lateMs] of [
    ["the load itself", result, late(0.99)],
    ["one beside it, on a kept connection", one.kept, one.lateMs],
    ["one beside it, each on a new one", one.fresh, one.lateMs],
  ] as const)
    console.log(
      `  refusals of ${who}: ${refused(outcomes).length}, p50 ${times(outcomes, 0.5).toFixed(1)} ms, p99 ${times(outcomes, 0.99).toFixed(1)} ms; that client's own event loop late p99 ${lateMs.toFixed(1)} ms`,
    );
  checkAtMost(
    "refusals of one beside the load p99",
    times([...one.kept, ...one.fresh], 0.99),
    100,
    "ms",
  );

  console.log("\nTen seconds later");
  await setTimeout(10_000);
  if (sending) throw new Error("the overload is not over");
  await ordinary(10);
}

function refused(outcomes: readonly Outcome[]): readonly Outcome[] {
  return outcomes.filter(({ status }) => status === 503 || status === 429);
}

/** A short check that the service has returned to normal. */
async function ordinary(seconds: number): Promise<void> {
  const { result } = await watched(() => client.atRate(rate, after(seconds), next));
  printOutcomes(result, seconds);
  checkOrdinaryLimits(result);
}

/** Exports and an import during ordinary requests; `withLarge` adds a large query a second. A second such phase imports little. */
async function beside(withLarge: boolean): Promise<void> {
  const large = withLarge ? ", with a large query a second" : "";
  console.log(`\nTwo large exports and an import${large} beside ${rate} requests a second`);
  const backgroundWork = await prepareBackgroundWork(fleet, client);
  let over = false;
  const work = backgroundWork().finally(() => {
    over = true;
  });
  const began = performance.now();
  const [{ result, figures, longest }, others] = await Promise.all([
    watched(() => client.atRate(rate, () => over, next)),
    withLarge ? client.atRate(1, () => over, largeQuery) : [],
    work,
  ]);
  const seconds = (performance.now() - began) / 1000;
  printOutcomes(result, seconds);
  if (withLarge) {
    checkAtMost("requests that failed", result.length - successful(result).length, 0, "");
    console.log("  the large queries:");
    printOutcomes(others, seconds);
    checkAtMost("large queries that failed", others.length - successful(others).length, 0, "");
  } else checkOrdinaryLimits(result);
  checkAtMost("event loop p99", figures.eventLoop.p99, 30, "ms");
  if (longest !== null)
    checkAtMost("event loop at most, but for what the machine stood still", longest, 50, "ms");
}

async function slow(): Promise<void> {
  console.log("\n500 idle connections, slow heads and slow bodies");
  const close = await openSlowly(fleet.url, 500);
  try {
    await ordinary(20);
  } finally {
    close();
  }
}

/** Each document is parsed, measured and planned, and evicts another from the cache. */
async function documents(): Promise<void> {
  const count = 40_000;
  console.log(`\n${count} distinct documents over 8 connections`);
  const samples: number[] = [];
  let sent = 0;
  let done = 0;
  let failed = 0;
  await client.asFastAs(
    8,
    () => sent >= count,
    () => ({
      body: JSON.stringify({ query: `{ products(first: 5) { nodes { id a${sent++}: name } } }` }),
      writes: false,
    }),
    ({ status, failed: hasErrors }) => {
      if (status !== 200 || hasErrors) failed++;
      if (++done % 4_000 === 0) void fleet.look().then(({ memory }) => samples.push(memory));
    },
  );
  await setTimeout(1_000);
  console.log(`  memory, MB: ${samples.map((memory) => memory.toFixed(0)).join(" ")}`);
  checkAtMost("requests that failed", failed, 0, "");
  checkAtMost(
    // Before that, bounded caches are filled, and the heap grows to its limit.
    "memory at the end by that after 24,000",
    ((samples.at(-1) ?? NaN) / (samples[5] ?? NaN)) * 100,
    110,
    "%",
  );
}

async function soak(): Promise<void> {
  console.log(`\n${soakRequests} mixed requests over 32 connections`);
  console.log("requests  failed     req/s  memory MB  event loop late, ms: p99     most");
  const samples: number[] = [];
  let done = 0;
  let failed = 0;
  let since = performance.now();
  const step = Math.max(1, Math.floor(soakRequests / 20));
  await fleet.look();
  let sent = 0;
  await client.asFastAs(
    32,
    () => sent >= soakRequests,
    () => {
      sent++;
      return next();
    },
    ({ status, failed: hasErrors }) => {
      if (status !== 200 || hasErrors) failed++;
      if (++done % step > 0) return;
      const count = done;
      const perSecond = (step / (performance.now() - since)) * 1000;
      since = performance.now();
      void fleet.look().then(({ memory, eventLoop }) => {
        samples.push(memory);
        console.log(
          `${String(count).padStart(8)}${String(failed).padStart(8)}${perSecond.toFixed(0).padStart(10)}` +
            `${memory.toFixed(0).padStart(11)}${eventLoop.p99.toFixed(1).padStart(25)}${eventLoop.most.toFixed(1).padStart(9)}`,
        );
      });
    },
  );
  await setTimeout(1_000);
  checkAtMost("requests that failed", failed, 0, "");
  // The first half fills bounded caches.
  const half = Math.floor(samples.length / 2);
  const [before, later] = [samples.slice(half / 2, half), samples.slice(-half / 2)].map(
    (part) => part.reduce((sum, one) => sum + one, 0) / part.length,
  );
  checkAtMost(
    "memory of the last quarter by that of the second",
    ((later ?? NaN) / (before ?? NaN)) * 100,
    110,
    "%",
  );
}
