import { readConfig } from "../config.ts";
import type { ConstantOverrides } from "../settings/constants.ts";
import { failureText } from "../errors/failureText.ts";
import { onStop, reportReady } from "../process/lifecycle.ts";
import { createLog } from "../process/log.ts";
import { startWatchdog } from "../process/watchdog.ts";
import { startWorker } from "./startWorker.ts";
import type { TaskDefinition } from "./queue/defineTask.ts";

// Time after the jobs' deadline to requeue jobs and close connections.
const graceMs = 4000;

/**
 * Runs a worker until it receives a stop signal, then exits. Exits with 1 when the worker cannot start or continue; a
 * supervisor must restart it.
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
        // Logged once the worker no longer takes jobs.
        log.info("worker stopping");
        await stopped;
      },
      { timeoutMs: config.shutdownSeconds * 1000 + graceMs, env },
    );
    const worker = await starting;
    log.info("worker started");
    startWatchdog("worker", config.eventLoopTimeoutMs);
    reportReady();
    const reason = await worker.ended;
    if (stopping) return;
    log.fatal({ err: reason }, "worker failed");
    // Running jobs get time to finish; jobs that this worker lost cannot commit.
    setTimeout(() => process.exit(1), config.shutdownSeconds * 1000 + graceMs).unref();
    await worker.stop().catch((error: unknown) => {
      log.warn({ err: error }, "worker stop failed");
    });
    process.exit(1);
  } catch (error) {
    process.stderr.write(`${failureText(error)}\n`);
    process.exit(1);
  }
}
