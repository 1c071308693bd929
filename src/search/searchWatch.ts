import type pg from "pg";
import type { Logger } from "pino";

// Changes must be searchable within two seconds. When a poll is slow, the interval grows up to the maximum.
const pollMs = 200;
const maxPollMs = 800;

/** Polls for changes that the search engine has not received. */
export interface SearchWatch {
  /** Resolves when the current poll has ended. */
  stop(): Promise<void>;
}

/** Polls for undelivered changes and queues a job for them. Writers only add a row to the outbox and never wait. */
export function watchSearch(pool: pg.Pool, tenant: string, log: Logger): SearchWatch {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let failures = 0;
  let polling: Promise<void> = Promise.resolve();

  async function poll(): Promise<void> {
    await pool.query({
      name: "wake-searches",
      text: "select office_jobs.queue_changed_searches($1)",
      values: [tenant],
    });
    if (failures > 0) log.info({ failures }, "search change polling recovered");
    failures = 0;
  }

  function next(): void {
    const startedAt = performance.now();
    polling = poll()
      .catch((error: unknown) => {
        failures += 1;
        if (failures === 1) log.warn({ err: error }, "search change polling failed");
      })
      .then(() => {
        if (stopped) return;
        const took = performance.now() - startedAt;
        timer = setTimeout(next, Math.min(maxPollMs, Math.max(pollMs, 4 * took)));
      });
  }

  next();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await polling;
    },
  };
}
