import { ConstantBackoff, handleWhen, retry } from "cockatiel";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

interface PreviousPortOptions<Running extends { port: number }> {
  /** The folder that stores the port. */
  dataDir: string;
  log: (line: string) => void;
  start: (port: number) => Promise<Running>;
}

/** A process killed a moment ago may still hold the port. */
const retryWhileTaken = retry(
  handleWhen((error) => "code" in error && error.code === "EADDRINUSE"),
  { maxAttempts: 20, backoff: new ConstantBackoff(100) },
);

/**
 * Starts an emulator on its previous port, so that its URLs stay valid. Returns null and logs the reason if it cannot start; the
 * service then runs without it.
 */
export async function startOnPreviousPort<Running extends { port: number }>(
  options: PreviousPortOptions<Running>,
): Promise<Running | null> {
  const { dataDir, log, start } = options;
  const file = path.join(dataDir, "port");
  try {
    const port = await readPreviousPort(file);
    const running = await retryWhileTaken.execute(() => start(port));
    await mkdir(dataDir, { recursive: true });
    await writeFile(file, `${running.port}\n`);
    return running;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log(
      `cannot start (${reason}); the service runs without it: delete ${file} to take another port`,
    );
    return null;
  }
}

async function readPreviousPort(file: string): Promise<number> {
  const text = await readFile(file, "utf8").catch(() => "");
  const port = /^\d{1,5}\n$/.test(text) ? Number(text) : 0;
  return port <= 65_535 ? port : 0;
}
