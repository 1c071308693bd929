import { AsyncResource } from "node:async_hooks";
import { LRUCache } from "lru-cache";
import type { Pool, PoolClient } from "pg";
import { isDatabaseError, isOutage } from "../errors/databaseErrors.ts";

type Work<T> = (client: PoolClient) => Promise<T>;

/** Connections that short statements of several requests share. */
export interface SharedConnections {
  /**
   * Runs `work`, one message to the database: on a shared connection where the statement of that name is short, else on
   * an exclusive one.
   * @throws the pool's error where no connection is available in time
   */
  run: <T>(name: string, work: Work<T>) => Promise<T>;
  /** The number of waiting callers. */
  waiting: () => number;
  /** Reports to `listener` how long each caller waited, in milliseconds. */
  watch: (listener: (ms: number) => void) => void;
}

/** Thresholds in milliseconds. */
interface ConnectionTimes {
  /** A statement that mostly takes longer runs on an exclusive connection: two shared ones would limit throughput. */
  quickMs: number;
  /** No statement is sent behind one that has run for this long. */
  slowMs: number;
}

/** A connection and its messages in flight, of which PostgreSQL works on the first. */
interface SharedConnection {
  client: PoolClient;
  inFlight: { since: number }[];
  /** Messages sent since it was taken from the pool. */
  sent: number;
  isBroken: boolean;
  onError: () => void;
}

/** Statistics of a statement's duration. */
interface StatementTimes {
  runs: number;
  slowRuns: number;
  totalMs: number;
  longestMs: number;
  exclusiveUntil: number;
}

interface WaitingCaller {
  since: number;
  start: (shared: SharedConnection) => void;
  fail: (error: unknown) => void;
}

// While PostgreSQL answers on one, it works on the other.
const usualConnections = 2;
// With less, PostgreSQL idles before the next message; with more, a slow one delays more others.
const maxInFlight = 4;
// Runs before a verdict, of which half may be slow: plans are made several times per connection, and the machine may be
// busy.
const runsToJudge = 64;
// An early verdict where all runs but the longest took this many times `quickMs` together.
const maxQuickMultiple = 400;
// How long a slow statement runs on exclusive connections before it is measured again, in milliseconds.
const exclusiveMs = 10_000;

// Pause after a refused connection, in milliseconds.
const pauseMs = 100;
// The pool's error for callers that waited too long.
const connectTimeoutMessage = "timeout exceeded when trying to connect";

const noRuns = { runs: 0, slowRuns: 0, totalMs: 0, longestMs: 0 };

/**
 * Waking an idle PostgreSQL process costs about as much as a small statement. So short statements share few
 * connections, on which the next one is sent before the first response. Each stays a message and a transaction, so
 * failures do not affect others. A slow statement delays the few sent behind it in its first milliseconds; a statement
 * that is mostly slow runs exclusively until it is measured again.
 *
 * The pool's connections need the option `pipeline`.
 */
export function createSharedConnections(
  pool: Pool,
  { quickMs, slowMs }: ConnectionTimes = { quickMs: 2.5, slowMs: 5 },
): SharedConnections {
  const sharedConnections: SharedConnection[] = [];
  const waiting: WaitingCaller[] = [];
  const times = new LRUCache<string, StatementTimes>({ max: 2_000 });
  const connectTimeoutMs = pool.options.connectionTimeoutMillis ?? 0;
  let onWaited: (ms: number) => void = () => undefined;
  let isOpening = false;
  let opensAgainAt = 0;
  let nextCheck: NodeJS.Timeout | undefined;

  const isSlow = ({ inFlight: [head] }: SharedConnection, now: number) =>
    head !== undefined && now - head.since > slowMs;
  const mayOpen = (now: number) => !isOpening && now >= opensAgainAt;
  /** Whether callers wait for connections of the pool. */
  const isPoolShort = () => pool.waitingCount > (isOpening ? 1 : 0);

  /** The least busy connection on which the next message may be sent. */
  function freeConnection(now: number, isShort: boolean): SharedConnection | undefined {
    const sound = sharedConnections.filter(({ isBroken }) => !isBroken);
    const usual = sound.slice(0, usualConnections);
    // Additional connections are used only while the usual ones are blocked.
    const places = usual.every((shared) => isSlow(shared, now)) ? sound : usual;
    let best: SharedConnection | undefined;
    for (const shared of places)
      if (
        shared.inFlight.length < (best?.inFlight.length ?? maxInFlight) &&
        (shared.inFlight.length === 0 || !isSlow(shared, now)) &&
        // Callers waiting for the pool get a turn after this many messages.
        (!isShort || shared.sent < maxInFlight)
      )
        best = shared;
    return best;
  }

  function dispatch(): void {
    const now = performance.now();
    const isShort = isPoolShort();
    while (waiting.length > 0) {
      const shared = freeConnection(now, isShort);
      const isIdle = shared?.inFlight.length === 0;
      // A new connection, where available at once, is better than a place behind another message.
      if (!isIdle && sharedConnections.length < usualConnections && mayOpen(now) && !isShort) break;
      if (!shared) break;
      shared.sent++;
      waiting.shift()?.start(shared);
    }
    release();
    if (waiting.length === 0) return;
    if (
      mayOpen(now) &&
      (sharedConnections.length < usualConnections ||
        sharedConnections.every((shared) => isSlow(shared, now)))
    )
      void open();
    nextCheck ??= setTimeout(checkWaiting, slowMs);
  }

  /** Checks periodically whether a waiting caller can proceed. */
  function checkWaiting(): void {
    nextCheck = undefined;
    const lastSince = performance.now() - connectTimeoutMs;
    while (connectTimeoutMs > 0 && waiting[0] && waiting[0].since < lastSince)
      waiting.shift()?.fail(new Error(connectTimeoutMessage));
    dispatch();
  }

  async function open(): Promise<void> {
    isOpening = true;
    try {
      const client = await pool.connect();
      const shared: SharedConnection = {
        client,
        inFlight: [],
        sent: 0,
        isBroken: false,
        onError: () => (shared.isBroken = true),
      };
      client.on("error", shared.onError);
      sharedConnections.push(shared);
    } catch (error) {
      const isLate = error instanceof Error && error.message === connectTimeoutMessage;
      // Pauses, because the database may have too many connections, and retries at once would never end.
      if (!isLate) opensAgainAt = performance.now() + pauseMs;
      // Other callers may still wait, unless there is no shared connection left to serve them.
      if (pool.ending || (sharedConnections.length === 0 && !isLate))
        for (const { fail } of waiting.splice(0)) fail(error);
    } finally {
      isOpening = false;
    }
    dispatch();
  }

  /** Returns idle connections to the pool. */
  function release(): void {
    for (const shared of sharedConnections.filter(({ inFlight }) => inFlight.length === 0)) {
      sharedConnections.splice(sharedConnections.indexOf(shared), 1);
      shared.client.off("error", shared.onError);
      shared.client.release(shared.isBroken);
    }
  }

  async function runShared<T>(
    statementTimes: StatementTimes,
    shared: SharedConnection,
    work: Work<T>,
  ): Promise<T> {
    const place = { since: performance.now() };
    shared.inFlight.push(place);
    try {
      return await work(shared.client);
    } catch (error) {
      // The end of the connection may be noticed a moment later.
      if (!isDatabaseError(error) || isOutage(error)) shared.isBroken = true;
      throw error;
    } finally {
      const now = performance.now();
      recordRun(statementTimes, now - place.since, now);
      const index = shared.inFlight.indexOf(place);
      shared.inFlight.splice(index, 1);
      const [head] = shared.inFlight;
      if (head && index === 0) head.since = now;
      dispatch();
    }
  }

  function recordRun(statementTimes: StatementTimes, ms: number, now: number): void {
    statementTimes.runs++;
    if (ms > quickMs) statementTimes.slowRuns++;
    statementTimes.totalMs += ms;
    statementTimes.longestMs = Math.max(statementTimes.longestMs, ms);
    const isSlowOne =
      statementTimes.slowRuns > runsToJudge / 2 ||
      statementTimes.totalMs - statementTimes.longestMs > maxQuickMultiple * quickMs;
    if (isSlowOne) statementTimes.exclusiveUntil = now + exclusiveMs;
    if (isSlowOne || statementTimes.runs === runsToJudge) Object.assign(statementTimes, noRuns);
  }

  async function runExclusively<T>(work: Work<T>): Promise<T> {
    const client = await pool.connect();
    try {
      return await work(client);
    } finally {
      client.release();
    }
  }

  return {
    waiting: () => waiting.length,
    watch(listener) {
      onWaited = listener;
    },
    run(name, work) {
      const statementTimes = times.get(name);
      if (!statementTimes) {
        times.set(name, { ...noRuns, exclusiveUntil: 0 });
        return runExclusively(work);
      }
      const since = performance.now();
      if (statementTimes.exclusiveUntil > since) return runExclusively(work);
      return new Promise((resolve, reject) => {
        // It runs in the callback of another request's response and would belong to that trace. (`AsyncResource.bind`
        // would hold the request in memory until the next full collection.)
        const own = new AsyncResource("SharedConnection");
        const start = (shared: SharedConnection) => {
          onWaited(performance.now() - since);
          runShared(statementTimes, shared, work).then(resolve, reject);
        };
        waiting.push({
          since,
          start: (shared) => own.runInAsyncScope(start, undefined, shared),
          fail: reject,
        });
        dispatch();
      });
    },
  };
}
