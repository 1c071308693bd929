import type pg from "pg";
import type { Logger } from "pino";

// Between two looks, in milliseconds: much shorter than the two seconds in which a change is to be found. Where a look takes long
// there are fewer of them, but not so few that a change would come too late.
const lookMs = 200;
const longestMs = 800;

/** Looks for changes that the search engine is to be told of. */
export interface SearchWatch {
  /** Resolves when the look that was under way is over. */
  stop(): Promise<void>;
}

/**
 * Looks again and again whether rows have changed of which the search engine was not told, and has a job tell it. What changes rows
 * so has nothing to do but to note them, and waits for nobody.
 */
export function watchSearch(pool: pg.Pool, tenant: string, log: Logger): SearchWatch {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let failures = 0;
  let looking: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    await pool.query({
      name: "wake-searches",
      text: "select office_jobs.queue_changed_searches($1)",
      values: [tenant],
    });
    if (failures > 0) log.info({ failures }, "changes for the search engine are looked for again");
    failures = 0;
  }

  function next(): void {
    const startedAt = performance.now();
    looking = look()
      .catch((error: unknown) => {
        failures += 1;
        if (failures === 1) log.warn({ err: error }, "changes for the search engine are not seen");
      })
      .then(() => {
        if (stopped) return;
        const took = performance.now() - startedAt;
        timer = setTimeout(next, Math.min(longestMs, Math.max(lookMs, 4 * took)));
      });
  }

  next();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
