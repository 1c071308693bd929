import { once } from "node:events";
import { setInterval } from "node:timers/promises";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { type Outcome, makeClient } from "./client.ts";
import { watchLateness } from "./lateness.ts";

// One person beside a load, on an event loop that has next to nothing else to do: the client of a load is late itself, and would
// take that for the server's.

const everyMs = 25;
/** Every fourth request comes over a connection of its own, as from one who was not there before. */
const newcomers = 4;

interface Given {
  url: string;
  token: string;
}

/** What became of the requests of one beside the load. */
export interface Beside {
  kept: Outcome[];
  fresh: Outcome[];
  /** How late that event loop was itself, the 99th percentile in milliseconds. */
  lateMs: number;
}

/** Begins to ask; what it returns ends that. */
export function askBeside(url: string, token: string): () => Promise<Beside> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { url, token } });
  return async () => {
    const said = once(worker, "message") as Promise<[Beside]>;
    worker.postMessage("stop");
    const [beside] = await said;
    return beside;
  };
}

async function ask({ url, token }: Given, signal: AbortSignal): Promise<Beside> {
  const [keeping, coming] = [makeClient(url, token), makeClient(url, token, false)];
  const body = JSON.stringify({ query: "{ me { id } }" });
  const late = watchLateness();
  const kept: Promise<Outcome>[] = [];
  const fresh: Promise<Outcome>[] = [];
  try {
    let n = 0;
    for await (const _ of setInterval(everyMs, undefined, { signal })) {
      const isNew = ++n % newcomers === 0;
      (isNew ? fresh : kept).push((isNew ? coming : keeping).send({ body, writes: false }));
    }
  } catch {
    // Told to stop.
  }
  const beside = {
    kept: await Promise.all(kept),
    fresh: await Promise.all(fresh),
    lateMs: late(0.99),
  };
  keeping.close();
  coming.close();
  return beside;
}

if (!isMainThread) {
  const stop = new AbortController();
  parentPort?.once("message", () => stop.abort());
  parentPort?.postMessage(await ask(workerData as Given, stop.signal));
}
