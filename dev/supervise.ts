import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { ReadyMessage } from "../src/process/lifecycle.ts";

/** The process to supervise, and callbacks for its state. */
export interface SuperviseOptions {
  /** Name of the process in messages. */
  name: string;
  /** Starts the process, with an IPC channel over which it reports that it is ready. */
  spawn: () => ChildProcess;
  log: (line: string) => void;
  onReady: (message: ReadyMessage) => void;
  /** Called when the process failed `giveUpAfter` times without being ready; it is not restarted. */
  onGiveUp: () => void;
  /** Time from SIGTERM to SIGKILL, in milliseconds. */
  stopTimeoutMs: number;
  timing?: Partial<Timing>;
}

/** Delays before a restart. */
export interface Timing {
  firstDelayMs: number;
  longestDelayMs: number;
  /** A process that ran this long resets the count of failures. */
  forgetAfterMs: number;
  /** Failures in a row, without being ready, after which supervision ends. */
  giveUpAfter: number;
}

/** A process under supervision. */
export interface Supervised {
  /** Stops the process and starts it again; resets the count of failures. */
  restart(): Promise<void>;
  /** Asks the process to stop (SIGTERM), kills it after `stopTimeoutMs`, and waits for its end. */
  stop(): Promise<void>;
  /** Kills the process without waiting. */
  kill(): void;
}

const defaultTiming: Timing = {
  firstDelayMs: 250,
  longestDelayMs: 10_000,
  forgetAfterMs: 30_000,
  giveUpAfter: 5,
};

/** Delay in milliseconds before the next start. @param failures failures in a row, at least 1 */
export function restartDelay(failures: number, timing: Timing = defaultTiming): number {
  return Math.min(timing.firstDelayMs * 2 ** (failures - 1), timing.longestDelayMs);
}

/** Starts a process and restarts it when it ends without `stop`, after an exponential delay. */
export function supervise(options: SuperviseOptions): Supervised {
  const { name, log } = options;
  const timing = { ...defaultTiming, ...options.timing };
  let child: ChildProcess | undefined;
  let timer: NodeJS.Timeout | undefined;
  let wanted = true;
  let closed = false;
  let everReady = false;
  let failures = 0;
  let restarting: Promise<void> | undefined;

  const start = () => {
    const current = options.spawn();
    const startedAt = Date.now();
    child = current;
    current.on("message", (message) => {
      if (!isReady(message)) return;
      everReady = true;
      options.onReady(message);
    });
    // A process that cannot be started emits `error` and no `exit`.
    current.once("error", (error) => {
      if (current.pid === undefined) onEnd(current, `cannot be started: ${error.message}`, 0);
    });
    current.once("exit", (code, signal) => {
      onEnd(current, `ended (${signal ?? `exit code ${code}`})`, Date.now() - startedAt);
    });
  };

  const onEnd = (ended: ChildProcess, what: string, livedMs: number) => {
    if (ended !== child) return;
    child = undefined;
    if (!wanted) return;
    failures = livedMs >= timing.forgetAfterMs ? 1 : failures + 1;
    if (!everReady && failures >= timing.giveUpAfter) {
      log(`the ${name} ${what}, ${failures} times without ever being ready`);
      options.onGiveUp();
      return;
    }
    const delayMs = restartDelay(failures, timing);
    log(`the ${name} ${what}; it starts again in ${delayMs} ms`);
    timer = setTimeout(start, delayMs);
  };

  const end = async () => {
    wanted = false;
    clearTimeout(timer);
    if (child === undefined) return;
    const current = child;
    const ended = once(current, "exit");
    const killer = setTimeout(() => {
      log(`the ${name} does not stop and is killed`);
      current.kill("SIGKILL");
    }, options.stopTimeoutMs);
    current.kill("SIGTERM");
    await ended.catch(() => undefined);
    clearTimeout(killer);
  };

  const startAgain = async () => {
    await end();
    if (closed) return;
    wanted = true;
    everReady = false;
    failures = 0;
    start();
  };

  start();
  return {
    stop: () => {
      closed = true;
      return end();
    },
    // Calls during a restart share it.
    restart: () => (restarting ??= startAgain().finally(() => (restarting = undefined))),
    kill: () => {
      closed = true;
      wanted = false;
      clearTimeout(timer);
      child?.kill("SIGKILL");
    },
  };
}

function isReady(message: unknown): message is ReadyMessage {
  return (
    typeof message === "object" && message !== null && "type" in message && message.type === "ready"
  );
}
