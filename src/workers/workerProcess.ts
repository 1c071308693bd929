import { ConfigError, readConfig } from "../config.ts";
import type { ConstantOverrides } from "../settings/constants.ts";
import { DatabaseVersionError } from "../postgres/pools.ts";
import { onStop, reportReady } from "../process/lifecycle.ts";
import { createLog } from "../process/log.ts";
import { startWatchdog } from "../process/watchdog.ts";
import { startWorker } from "./startWorker.ts";
import type { TaskDefinition } from "./queue/task.ts";

// After the jobs' own time, for giving them back and closing connections.
const graceMs = 4000;

/**
 * The life of a worker process: runs until it is told to stop, and exits. It exits with 1 when it cannot start or go on;
 * a supervisor is to start it anew.
 */
export async function runWorkerProcess(
  env: Record<string, string | undefined>,
  extraTasks?: Readonly<Record<string, TaskDefinition>>,
  overrides?: ConstantOverrides,
): Promise<void> {
  try {
    const config = readConfig(env, ["worker"], overrides);
    const log = createLog(config.logLevel).child({ process: "worker" });
    for (const { name, nearest } of config.unknownSettings)
      log.warn({ name, nearest }, "unknown setting");
    const starting = startWorker({ config, log, extraTasks });
    let stopping = false;
    onStop(
      async () => {
        stopping = true;
        const worker = await starting;
        const stopped = worker.stop();
        // Told when it takes no more jobs.
        log.info("the worker stops");
        await stopped;
      },
      { timeoutMs: config.shutdownSeconds * 1000 + graceMs, env },
    );
    const worker = await starting;
    log.info("the worker takes jobs");
    startWatchdog("worker", config.eventLoopTimeoutMs);
    reportReady();
    const reason = await worker.ended;
    if (stopping) return;
    log.fatal({ err: reason }, "the worker cannot go on");
    // Jobs that are still well have their time; those that were lost cannot commit anything.
    setTimeout(() => process.exit(1), config.shutdownSeconds * 1000 + graceMs).unref();
    await worker.stop().catch((error: unknown) => {
      log.warn({ err: error }, "the worker did not stop well");
    });
    process.exit(1);
  } catch (error) {
    const isKnown = error instanceof ConfigError || error instanceof DatabaseVersionError;
    const text = isKnown ? error.message : errorText(error);
    process.stderr.write(`${text}\n`);
    process.exit(1);
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
