import { once } from "node:events";
import { setInterval } from "node:timers/promises";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { type Outcome, makeClient } from "./client.ts";
import { sampleEventLoopDelay } from "./eventLoopDelay.ts";

// One client during a load, on its own event loop: the load's client is late itself and would attribute
// its delay to the server.

const everyMs = 25;
/** Every fourth request uses a new connection, like a new client. */
const newConnectionEvery = 4;

interface Given {
  url: string;
  token: string;
}

/** The outcomes of the client's requests during the load. */
export interface ProbeResult {
  kept: Outcome[];
  fresh: Outcome[];
  /** The delay of the client's event loop, 99th percentile in milliseconds. */
  lateMs: number;
}

/** Starts the requests; the returned function stops them. */
export function startProbe(url: string, token: string): () => Promise<ProbeResult> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { url, token } });
  return async () => {
    const result = once(worker, "message") as Promise<[ProbeResult]>;
    worker.postMessage("stop");
    const [probe] = await result;
    return probe;
  };
}

async function ask({ url, token }: Given, signal: AbortSignal): Promise<ProbeResult> {
  const [keeping, coming] = [makeClient(url, token), makeClient(url, token, false)];
  const body = JSON.stringify({ query: "{ me { id } }" });
  const late = sampleEventLoopDelay();
  const kept: Promise<Outcome>[] = [];
  const fresh: Promise<Outcome>[] = [];
  try {
    let n = 0;
    for await (const _ of setInterval(everyMs, undefined, { signal })) {
      const isNew = ++n % newConnectionEvery === 0;
      (isNew ? fresh : kept).push((isNew ? coming : keeping).send({ body, writes: false }));
    }
  } catch {
    // Stopped by the parent.
  }
  const probe = {
    kept: await Promise.all(kept),
    fresh: await Promise.all(fresh),
    lateMs: late(0.99),
  };
  keeping.close();
  coming.close();
  return probe;
}

if (!isMainThread) {
  const stop = new AbortController();
  parentPort?.once("message", () => stop.abort());
  parentPort?.postMessage(await ask(workerData as Given, stop.signal));
}
