const defaultTimeoutMs = 25_000;
/**
 * Ctrl-C reaches a process below npm twice, from the terminal and from npm. Signals within this time count as one, in
 * milliseconds.
 */
export const sameCtrlCMs = 500;

/** The signals that stop a process. */
export const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const parentCheckMs = 500;

/** The message to the supervisor when a process is ready. */
export interface ReadyMessage {
  type: "ready";
  /** The address of a server; a worker has none. */
  url?: string;
  /** Settings with which other processes reach it. */
  env?: Readonly<Record<string, string>>;
  /** Its pages for a browser. */
  pages?: readonly Page[];
}

/** A page for a browser. */
export interface Page {
  title: string;
  url: string;
}

/**
 * Calls `handler` once when the npm that started this process has exited without passing on a signal. Other parents may
 * exit on purpose: a shell leaves its background processes running.
 */
export function onNpmExit(env: NodeJS.ProcessEnv, handler: () => void): void {
  // A supervised process inherits the variable from npm, but its parent is the supervisor.
  if (env["npm_lifecycle_event"] === undefined || process.send !== undefined) return;
  const npm = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(timer);
    handler();
  }, parentCheckMs).unref();
}

/**
 * Runs `handler` once when the process is to stop: on a signal of {@link stopSignals}, or when its supervisor or npm
 * has exited. Then the process exits: with 0, or with 1 when the handler fails or exceeds `timeoutMs`. A second SIGINT
 * exits at once.
 */
export function onStop(
  handler: (reason: string) => Promise<void>,
  options: { timeoutMs?: number; env?: NodeJS.ProcessEnv } = {},
): void {
  let stoppingSince: number | undefined;
  const stop = (reason: string) => {
    if (stoppingSince !== undefined) {
      if (reason === "SIGINT" && Date.now() - stoppingSince > sameCtrlCMs) process.exit(130);
      return;
    }
    stoppingSince = Date.now();
    setTimeout(() => {
      process.stderr.write("not everything finished in time, stopping all the same\n");
      process.exit(1);
    }, options.timeoutMs ?? defaultTimeoutMs);
    // Inside a promise, so that a handler that throws synchronously is handled the same way.
    void Promise.resolve()
      .then(() => handler(reason))
      .then(
        () => process.exit(0),
        (error: unknown) => {
          const text = error instanceof Error ? error.stack : String(error);
          process.stderr.write(`stopping failed: ${text}\n`);
          process.exit(1);
        },
      );
  };
  for (const signal of stopSignals) process.on(signal, stop);
  onNpmExit(options.env ?? {}, () => stop("npm is gone"));
  process.once("disconnect", () => stop("the supervisor is gone"));
  // The supervisor exited before the listener was added.
  if (process.send !== undefined && !process.connected) stop("the supervisor is gone");
}

/** Reports to the supervisor that this process is ready; does nothing without one. */
export function reportReady(message: Omit<ReadyMessage, "type"> = {}): void {
  if (!process.connected) return;
  // Ignores a supervisor that is exiting: `onStop` handles that.
  process.send?.({ ...message, type: "ready" } satisfies ReadyMessage, undefined, {}, () => {});
}
