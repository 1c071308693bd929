import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { ReadyMessage } from "../src/process/lifecycle.ts";

/** What is kept running, and who hears of it. */
export interface SuperviseOptions {
  /** What the process is called in messages. */
  name: string;
  /** Starts the process, with an IPC channel over which it reports that it is ready. */
  spawn: () => ChildProcess;
  log: (line: string) => void;
  onReady: (message: ReadyMessage) => void;
  /** The process never became ready and failed too often; it is not started again by itself. */
  onGiveUp: () => void;
  /** How long a process may take to stop before it is killed, in milliseconds. */
  stopTimeoutMs: number;
  timing?: Partial<Timing>;
}

/** When a process that ended is started again; all in milliseconds but the number of failures. */
export interface Timing {
  firstDelayMs: number;
  longestDelayMs: number;
  /** One that lived this long has no failures any more. */
  forgetAfterMs: number;
  /** So many failures before it was ever ready are enough. */
  giveUpAfter: number;
}

/** A process that is kept running. */
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

/** How long to wait before the next start after so many failures in a row (at least 1). */
export function restartDelay(failures: number, timing: Timing = defaultTiming): number {
  return Math.min(timing.firstDelayMs * 2 ** (failures - 1), timing.longestDelayMs);
}

/** Starts a process and starts it again whenever it ends unasked, each time after a longer wait. */
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
    // A process that could not even be started has an error and no exit.
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

  const startAnew = async () => {
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
    // Asked for again while the old one still ends, it is the same restart.
    restart: () => (restarting ??= startAnew().finally(() => (restarting = undefined))),
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
