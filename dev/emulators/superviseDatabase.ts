import { setTimeout as delay } from "node:timers/promises";
import { restartDelay } from "../supervise.ts";
import type { LocalPostgres, LocalPostgresOptions } from "./postgres.ts";
import { startLocalPostgres } from "./postgres.ts";

const giveUpAfter = 5;

/** The development database, restarted on the same port when it ends without `stop`. */
export interface SupervisedDatabase {
  /** Does not change with restarts. Contains the password: do not log it. */
  url: string;
  folder: string;
  stop(): Promise<void>;
}

/**
 * Starts the development database and keeps it running until `stop`. Calls `onGiveUp` when it ended and could not
 * be restarted.
 * @throws when the first start fails
 */
export async function superviseDatabase(
  options: LocalPostgresOptions & { onGiveUp: () => void },
): Promise<SupervisedDatabase> {
  const start = (port?: number) =>
    startLocalPostgres({ databaseName: "back_office", ...options, port });
  let current: LocalPostgres = await start(options.port);
  const { url, folder, port } = current;
  const stopping = new AbortController();

  const restartOnEnd = async () => {
    for (let failures = 0; failures < giveUpAfter;) {
      await current.ended;
      if (stopping.signal.aborted) return;
      failures++;
      options.log("PostgreSQL ended unexpectedly; it starts again");
      try {
        await current.stop();
        await delay(restartDelay(failures), undefined, { signal: stopping.signal });
        current = await start(port);
        failures = 0;
        if (stopping.signal.aborted) return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        options.log(error instanceof Error ? error.message : String(error));
      }
    }
    options.onGiveUp();
  };
  const restarts = restartOnEnd();

  return {
    url,
    folder,
    stop: async () => {
      stopping.abort();
      await current.stop();
      await restarts;
      // A restart may have been in progress.
      await current.stop();
    },
  };
}
