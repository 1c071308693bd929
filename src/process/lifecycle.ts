const defaultTimeoutMs = 25_000;
/** One Ctrl-C reaches a process twice when npm stands above it, from the terminal and from npm: within this time, in milliseconds. */
export const sameCtrlCMs = 500;

/** What asks a process to end. */
export const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const parentCheckMs = 500;

/** What a process tells its supervisor when it is ready for work. */
export interface ReadyMessage {
  type: "ready";
  /** The address of a server; a worker has none. */
  url?: string;
  /** The settings with which others reach what runs in it. */
  env?: Readonly<Record<string, string>>;
  /** What it shows to people. */
  pages?: readonly Page[];
}

/** A page for people. */
export interface Page {
  title: string;
  url: string;
}

/**
 * Calls `handler` once when npm, which started this process, is gone without passing on a signal. Other parents may leave on
 * purpose: a shell that ends leaves its background processes running.
 */
export function onNpmExit(env: NodeJS.ProcessEnv, handler: () => void): void {
  // A supervised process inherits the variable; its parent is the supervisor, which has a channel.
  if (env["npm_lifecycle_event"] === undefined || process.send !== undefined) return;
  const npm = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(timer);
    handler();
  }, parentCheckMs).unref();
}

/**
 * Runs `handler` once when this process is to stop: at a signal of {@link stopSignals}, and when the supervisor or the npm
 * that started it is gone. Then the process exits: with 0 when the handler has finished, with 1 when it fails or takes
 * longer than `timeoutMs`. A second SIGINT does not wait.
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
    // Called inside a promise, so that a handler that throws at once is treated the same.
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
  // Gone already, before anyone listened.
  if (process.send !== undefined && !process.connected) stop("the supervisor is gone");
}

/** Tells the supervisor that this process is ready; without a supervisor nothing happens. */
export function reportReady(message: Omit<ReadyMessage, "type"> = {}): void {
  if (!process.connected) return;
  // A supervisor that is just dying is no error here: `onStop` hears of it.
  process.send?.({ ...message, type: "ready" } satisfies ReadyMessage, undefined, {}, () => {});
}
