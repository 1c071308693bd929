import { once } from "node:events";
import { setInterval } from "node:timers/promises";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { type Outcome, makeClient } from "./client.ts";
import { watchLateness } from "./lateness.ts";

// One client during a load, on its own event loop: the load's client is late itself and would attribute
// its delay to the server.

const everyMs = 25;
/** Every fourth request uses a new connection, like a new client. */
const newcomers = 4;

interface Given {
  url: string;
  token: string;
}

/** The outcomes of the client's requests during the load. */
export interface Beside {
  kept: Outcome[];
  fresh: Outcome[];
  /** The delay of the client's event loop, 99th percentile in milliseconds. */
  lateMs: number;
}

/** Starts the requests; the returned function stops them. */
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
    // Stopped by the parent.
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
