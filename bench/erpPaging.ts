import { fork } from "node:child_process";
import { once } from "node:events";
import { readConfig } from "../src/config.ts";
import { startErpEmulator } from "../dev/emulators/erpEmulator.ts";
import { makeErpClient } from "../src/gateways/makeErpClient.ts";
import { readCounts } from "./readCounts.ts";

// How fast the client reads all orders from the emulator, page by page, and what memory that takes:
//   node --expose-gc bench/erpPaging.ts [orders] [page size]
// The emulator runs in a separate process. The heap is measured after a collection on each fiftieth page.

const { orders, pageSize } = readCounts({ orders: 100_000, pageSize: 200 });

async function emulate(): Promise<void> {
  const emulator = await startErpEmulator({ port: 0, seed: "bench", orders });
  process.send?.(emulator.env);
  process.once("disconnect", () => void emulator.stop());
}

async function measure(): Promise<void> {
  const child = fork(import.meta.filename, process.argv.slice(2), { env: { EMULATE: "1" } });
  const [env] = (await once(child, "message")) as [Record<string, string>];
  const erp = makeErpClient(readConfig(env, [], { erp: { pageSize } }));
  if (erp === null) throw new Error("the settings name no ERP");
  const start = performance.now();
  let [read, lines, pages, peakHeap, peakRss] = [0, 0, 0, 0, 0];
  for (let cursor: string | null = null, done = false; !done;) {
    const page = await erp.changedOrders(cursor);
    ({ cursor, done } = page);
    read += page.records.length;
    lines += page.records.reduce((sum, order) => sum + order.lines.length, 0);
    if (++pages % 50 === 0) {
      globalThis.gc?.();
      peakHeap = Math.max(peakHeap, process.memoryUsage().heapUsed);
    }
    peakRss = Math.max(peakRss, process.memoryUsage().rss);
  }
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage();
  console.log({
    orders: read,
    lines,
    pages,
    seconds: Math.round(seconds),
    ordersPerSecond: Math.round(read / seconds),
    clientCpuSeconds: Math.round((user + system) / 1e6),
    peakHeapMiB: Math.round(peakHeap / 2 ** 20),
    peakRssMiB: Math.round(peakRss / 2 ** 20),
  });
  child.disconnect();
}

await (process.env["EMULATE"] === "1" ? emulate() : measure());
