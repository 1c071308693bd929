import { AsyncResource } from "node:async_hooks";
import { LRUCache } from "lru-cache";
import type { Pool, PoolClient } from "pg";
import { isDatabaseError, isOutage } from "../errors/databaseErrors.ts";

type Work<T> = (client: PoolClient) => Promise<T>;

/** Ways to the database that are shared by what is known to be quick. */
export interface SharedConnections {
  /**
   * Runs `work`, one message to the database, on a connection of the pool: on one that others use as well where the statement of
   * that name is quick, else on one of its own.
   * @throws what the pool throws where no connection is to be had in its time
   */
  run: <T>(name: string, work: Work<T>) => Promise<T>;
  /** How many wait for a place. */
  waiting: () => number;
  /** Tells `listener` from now on how long each one waited for a place, in milliseconds. */
  watch: (listener: (ms: number) => void) => void;
}

/** What is quick, in milliseconds. */
interface ConnectionTimes {
  /** A statement that mostly takes longer is not: together the sharedConnections would do less of it than a process has time for. */
  quickMs: number;
  /** Nobody is sent after what has taken so long already. */
  slowMs: number;
}

/** A connection with what was sent over it and is not answered yet; the first of that is what the database is at. */
interface SharedConnection {
  client: PoolClient;
  underWay: { since: number }[];
  /** How many were sent since it was taken from the pool. */
  sent: number;
  isBroken: boolean;
  onError: () => void;
}

/** What is known of how long a statement takes. */
interface Pace {
  runs: number;
  slowRuns: number;
  totalMs: number;
  longestMs: number;
  aloneUntil: number;
}

interface Waiting {
  since: number;
  start: (shared: SharedConnection) => void;
  fail: (error: unknown) => void;
}

// While one is answered, the other is at work.
const usualConnections = 2;
// With less, the database is done before this process has sent the next; with more, a slow one keeps more others waiting.
const depth = 4;
// A statement is judged by so many runs, of which half may be slow: it is planned some times on each connection, and the machine has
// other things to do.
const runsToJudge = 64;
// It is judged before that where those but the longest together took so many times what is quick.
const mostTimesQuick = 400;
// What is not quick goes alone for so long before it is judged again, in milliseconds.
const aloneMs = 10_000;

// So long after a connection was refused, another is asked for, in milliseconds.
const pauseMs = 100;
// What the pool says to those who waited for too long.
const tooLate = "timeout exceeded when trying to connect";

const unknownPace = { runs: 0, slowRuns: 0, totalMs: 0, longestMs: 0 };

/**
 * A connection of the database whose next statement is still to come falls asleep, and waking it up costs both sides as much as a
 * small statement does. So those that are quick share few connections, on which the next ones are sent before the first is
 * answered. Each stays a message and a transaction of its own: what fails has no effect on others. What turns out slow keeps
 * those few waiting that were sent after it in its first milliseconds; what mostly is goes alone, until it is judged again.
 *
 * The pool's connections must be made with the setting `pipeline`.
 */
export function createSharedConnections(
  pool: Pool,
  { quickMs, slowMs }: ConnectionTimes = { quickMs: 2.5, slowMs: 5 },
): SharedConnections {
  const sharedConnections: SharedConnection[] = [];
  const waiting: Waiting[] = [];
  const paces = new LRUCache<string, Pace>({ max: 2_000 });
  const patienceMs = pool.options.connectionTimeoutMillis ?? 0;
  let onWaited: (ms: number) => void = () => undefined;
  let isOpening = false;
  let opensAgainAt = 0;
  let nextLook: NodeJS.Timeout | undefined;

  const isSlow = ({ underWay: [head] }: SharedConnection, now: number) =>
    head !== undefined && now - head.since > slowMs;
  const mayOpen = (now: number) => !isOpening && now >= opensAgainAt;
  /** Whether others want connections that are not there. */
  const isPoolShort = () => pool.waitingCount > (isOpening ? 1 : 0);

  /** The shared with the least to do of those on which the next may be sent. */
  function freeLane(now: number, isShort: boolean): SharedConnection | undefined {
    const sound = sharedConnections.filter(({ isBroken }) => !isBroken);
    const usual = sound.slice(0, usualConnections);
    // Those beyond are for as long as the usual ones are held up.
    const places = usual.every((shared) => isSlow(shared, now)) ? sound : usual;
    let best: SharedConnection | undefined;
    for (const shared of places)
      if (
        shared.underWay.length < (best?.underWay.length ?? depth) &&
        (shared.underWay.length === 0 || !isSlow(shared, now)) &&
        // Who waits for a connection of the pool has a turn after what was sent at once.
        (!isShort || shared.sent < depth)
      )
        best = shared;
    return best;
  }

  function dispatch(): void {
    const now = performance.now();
    const isShort = isPoolShort();
    while (waiting.length > 0) {
      const shared = freeLane(now, isShort);
      const isIdle = shared?.underWay.length === 0;
      // Better one of its own than behind another, where one is to be had at once.
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
    nextLook ??= setTimeout(look, slowMs);
  }

  /** Things may stand still while somebody waits. */
  function look(): void {
    nextLook = undefined;
    const lastSince = performance.now() - patienceMs;
    while (patienceMs > 0 && waiting[0] && waiting[0].since < lastSince)
      waiting.shift()?.fail(new Error(tooLate));
    dispatch();
  }

  async function open(): Promise<void> {
    isOpening = true;
    try {
      const client = await pool.connect();
      const shared: SharedConnection = {
        client,
        underWay: [],
        sent: 0,
        isBroken: false,
        onError: () => (shared.isBroken = true),
      };
      client.on("error", shared.onError);
      sharedConnections.push(shared);
    } catch (error) {
      const isLate = error instanceof Error && error.message === tooLate;
      // Not at once: there may be too many connections already, and this would be asked without end.
      if (!isLate) opensAgainAt = performance.now() + pauseMs;
      // Who came later than the one for whom it was asked has time left. Others have nobody else who would take care of them.
      if (pool.ending || (sharedConnections.length === 0 && !isLate))
        for (const { fail } of waiting.splice(0)) fail(error);
    } finally {
      isOpening = false;
    }
    dispatch();
  }

  /** Gives sharedConnections back on which nothing is under way. */
  function release(): void {
    for (const shared of sharedConnections.filter(({ underWay }) => underWay.length === 0)) {
      sharedConnections.splice(sharedConnections.indexOf(shared), 1);
      shared.client.off("error", shared.onError);
      shared.client.release(shared.isBroken);
    }
  }

  async function runShared<T>(pace: Pace, shared: SharedConnection, work: Work<T>): Promise<T> {
    const place = { since: performance.now() };
    shared.underWay.push(place);
    try {
      return await work(shared.client);
    } catch (error) {
      // The end of the connection may be known a moment later only.
      if (!isDatabaseError(error) || isOutage(error)) shared.isBroken = true;
      throw error;
    } finally {
      const now = performance.now();
      judge(pace, now - place.since, now);
      const index = shared.underWay.indexOf(place);
      shared.underWay.splice(index, 1);
      const [head] = shared.underWay;
      if (head && index === 0) head.since = now;
      dispatch();
    }
  }

  function judge(pace: Pace, ms: number, now: number): void {
    pace.runs++;
    if (ms > quickMs) pace.slowRuns++;
    pace.totalMs += ms;
    pace.longestMs = Math.max(pace.longestMs, ms);
    const isSlowOne =
      pace.slowRuns > runsToJudge / 2 || pace.totalMs - pace.longestMs > mostTimesQuick * quickMs;
    if (isSlowOne) pace.aloneUntil = now + aloneMs;
    if (isSlowOne || pace.runs === runsToJudge) Object.assign(pace, unknownPace);
  }

  async function alone<T>(work: Work<T>): Promise<T> {
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
      const pace = paces.get(name);
      if (!pace) {
        paces.set(name, { ...unknownPace, aloneUntil: 0 });
        return alone(work);
      }
      const since = performance.now();
      if (pace.aloneUntil > since) return alone(work);
      return new Promise((resolve, reject) => {
        // It starts when another's answer has come: without this it would be in that one's trace. (`AsyncResource.bind` would keep the
        // request in memory until the next full collection.)
        const own = new AsyncResource("SharedConnection");
        const start = (shared: SharedConnection) => {
          onWaited(performance.now() - since);
          runShared(pace, shared, work).then(resolve, reject);
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
