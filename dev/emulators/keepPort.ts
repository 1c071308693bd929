import { ConstantBackoff, handleWhen, retry } from "cockatiel";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

interface KeepPortOptions<Running extends { port: number }> {
  /** 0 takes a free port the first time and the same one from then on. */
  port: number;
  /** Where the port is remembered. */
  dataDir: string;
  /** The setting that chooses another port, for the message. */
  setting: string;
  log: (line: string) => void;
  start: (port: number) => Promise<Running>;
}

/** One that was killed a moment ago may still have the port. */
const whileTaken = retry(
  handleWhen((error) => "code" in error && error.code === "EADDRINUSE"),
  { maxAttempts: 20, backoff: new ConstantBackoff(100) },
);

/**
 * Starts an embedded server where it was the last time, so that addresses that were handed out stay right. Null, with the reason in
 * the log, when it cannot start; the service then runs without it.
 */
export async function keepPort<Running extends { port: number }>(
  options: KeepPortOptions<Running>,
): Promise<Running | null> {
  const { port, dataDir, setting, log, start } = options;
  const file = path.join(dataDir, "port");
  try {
    const at = port === 0 ? await rememberedPort(file) : port;
    const running = await whileTaken.execute(() => start(at));
    await mkdir(dataDir, { recursive: true });
    await writeFile(file, `${running.port}\n`);
    return running;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log(`cannot start (${reason}); the service runs without it: set ${setting} to another port`);
    return null;
  }
}

async function rememberedPort(file: string): Promise<number> {
  const text = await readFile(file, "utf8").catch(() => "");
  const port = /^\d{1,5}\n$/.test(text) ? Number(text) : 0;
  return port <= 65_535 ? port : 0;
}
