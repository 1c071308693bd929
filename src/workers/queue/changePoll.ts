import type pg from "pg";
import type { Logger } from "pino";

/** A slow poll lengthens the interval up to this factor. */
const maxSlowdown = 4;

/** Polls for changes that no job has handled. */
export interface ChangePoll {
  /** Resolves when the current poll has ended. */
  stop(): Promise<void>;
}

interface ChangePollOptions {
  pool: pg.Pool;
  /** The main tenant; test runs are polled as well. */
  tenant: string;
  intervalMs: number;
  /** Whether a search engine is configured. */
  hasSearch: boolean;
  log: Logger;
}

/** Queues jobs for changes of watched rows and of the search engine's documents. Writers add a row and never wait. */
export function pollChanges(options: ChangePollOptions): ChangePoll {
  const { pool, tenant, intervalMs, hasSearch, log } = options;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let failures = 0;
  let polling: Promise<void> = Promise.resolve();

  async function poll(): Promise<void> {
    await pool.query({
      name: "queue-changes",
      text: "select office_jobs.queue_changes($1, $2)",
      values: [tenant, hasSearch],
    });
    if (failures > 0) log.info({ failures }, "change polling recovered");
    failures = 0;
  }

  function next(): void {
    const startedAt = performance.now();
    polling = poll()
      .catch((error: unknown) => {
        failures += 1;
        if (failures === 1) log.warn({ err: error }, "change polling failed");
      })
      .then(() => {
        if (stopped) return;
        const slowMs = 4 * (performance.now() - startedAt);
        timer = setTimeout(next, Math.min(maxSlowdown * intervalMs, Math.max(intervalMs, slowMs)));
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
