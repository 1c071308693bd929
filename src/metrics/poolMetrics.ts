import type { Pool } from "pg";
import { Gauge, Histogram, type Registry } from "prom-client";
import { measureConnect } from "../telemetry/poolConnect.ts";
import type { SharedConnections } from "../postgres/sharedConnections.ts";

/**
 * Metrics of connection pools: connections by state, and the time that requests wait for a connection or for a shared
 * one.
 */
export function watchPools(
  registry: Registry,
  pools: Readonly<Record<string, Pool>>,
  connectionsOf: Readonly<Record<string, readonly SharedConnections[]>> = {},
): void {
  const waits = new Histogram({
    name: "office_pool_wait_seconds",
    help: "Time that requests wait for a connection",
    labelNames: ["pool"],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers: [registry],
  });
  new Gauge({
    name: "office_pool_connections",
    help: "Connections in use and idle, their maximum, and requests that wait for one",
    labelNames: ["pool", "state"],
    registers: [registry],
    collect() {
      for (const [name, pool] of Object.entries(pools)) {
        this.set({ pool: name, state: "used" }, pool.totalCount - pool.idleCount);
        this.set({ pool: name, state: "idle" }, pool.idleCount);
        this.set({ pool: name, state: "most" }, pool.options.max ?? 0);
        const inShared = (connectionsOf[name] ?? []).map((sharedConnections) =>
          sharedConnections.waiting(),
        );
        const waiting = inShared.reduce((sum, one) => sum + one, pool.waitingCount);
        this.set({ pool: name, state: "waiting" }, waiting);
      }
    },
  });
  for (const [name, pool] of Object.entries(pools)) {
    const seen = waits.labels(name);
    for (const sharedConnections of connectionsOf[name] ?? [])
      sharedConnections.watch((ms) => seen.observe(ms / 1000));
    measureConnect(pool, (waitMs) => seen.observe(waitMs / 1000));
  }
}
