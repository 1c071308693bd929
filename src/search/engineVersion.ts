import type { Logger } from "pino";
import type { SearchEngine } from "../gateways/search.ts";
import { SearchEngineError } from "../gateways/search.ts";

/** The oldest version of Typesense that the service supports. */
export const minEngineVersion = "0.24.1";

const retryMs = 60_000;
const maxRetries = 60;

/**
 * Reads a node's version.
 * @throws when the node is unreachable or rejects the request
 */
export async function readEngineVersion(
  address: string,
  { apiKey, timeoutMs }: { apiKey: string; timeoutMs: number },
): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs);
  const headers = { "x-typesense-api-key": apiKey };
  const answer = await fetch(`${address}/debug`, { headers, signal, redirect: "error" });
  if (!answer.ok) throw new Error(`GET /debug returned ${answer.status}`);
  const { version } = (await answer.json()) as { version?: unknown };
  if (typeof version !== "string") throw new Error("GET /debug returned no version");
  return version;
}

/** Compares numerically, so 0.24.1 is older than 27.0. False for names such as `nightly`. */
export function isOlderVersion(version: string, than: string): boolean {
  const [left, right] = [numbersOf(version), numbersOf(than)];
  if (left === null || right === null) return false;
  const position = left.findIndex((number, index) => number !== right[index]);
  return position !== -1 && (left[position] ?? 0) < (right[position] ?? 0);
}

function numbersOf(version: string): number[] | null {
  const match = /^v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?/.exec(version);
  return match && match.slice(1).map((number: string | undefined) => Number(number ?? 0));
}

/**
 * Logs a warning when the search engine is older than supported. Retries an unreachable engine each minute for an hour.
 */
export function warnIfOutdated(engine: SearchEngine, log: Logger, retries = maxRetries): void {
  engine.version().then(
    (version) => {
      if (isOlderVersion(version, minEngineVersion))
        log.warn({ version, leastVersion: minEngineVersion }, "search engine outdated");
    },
    (error: unknown) => {
      if (error instanceof SearchEngineError && retries > 0)
        setTimeout(() => warnIfOutdated(engine, log, retries - 1), retryMs).unref();
      else log.warn({ err: error }, "search engine version unknown");
    },
  );
}
