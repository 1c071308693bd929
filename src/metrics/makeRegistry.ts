import { Counter, Gauge, Registry, collectDefaultMetrics } from "prom-client";
import { failedLogWrites } from "../process/log.ts";
import { cacheCounts } from "../health/cacheCounts.ts";
import { diskFullAt } from "../health/diskFull.ts";
import type { ExternalSystems } from "../health/externalSystems.ts";
import { sqlJsonOutcomes } from "../health/sqlJsonOutcomes.ts";

const circuits = { closed: 0, "half-open": 1, open: 2 };

// Gauges of the library with a counter's name, which `promtool check metrics` rejects; others hold the same values by
// type.
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/**
 * Metrics of every process: the runtime (memory, event-loop delay, garbage collection), caches and circuit breakers.
 * `port` is the metrics port; null when metrics are off.
 */
export function makeRegistry(systems: ExternalSystems, port: number | null): Registry {
  const registry = new Registry();
  // Measuring the event-loop delay wakes the process a hundred times a second.
  if (port !== null) collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  new Gauge({
    name: "office_breaker_state",
    help: "Whether calls to an outside system are let through: 0 closed, 1 half-open, 2 open",
    labelNames: ["system"],
    registers: [registry],
    collect() {
      for (const { name, circuit } of systems.all())
        if (circuit) this.set({ system: name }, circuits[circuit()]);
    },
  });
  new Gauge({
    name: "office_disk_full",
    help: "1 where a write found the disk of a system full within the last five minutes",
    labelNames: ["system"],
    registers: [registry],
    collect() {
      for (const { name, storage } of systems.all())
        if (storage) this.set({ system: name }, diskFullAt(storage) ? 1 : 0);
    },
  });
  new Counter({
    name: "office_log_write_errors_total",
    help: "Times that the log could not be written, as on a full disk; its lines wait, and the latest are dropped",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(failedLogWrites());
    },
  });
  new Counter({
    name: "office_cache_lookups_total",
    help: "Looks into the caches of documents, plans and direct reads",
    labelNames: ["cache", "result"],
    registers: [registry],
    collect() {
      // The totals are counted elsewhere: set them by resetting and incrementing.
      this.reset();
      for (const [cache, { hits, misses }] of cacheCounts()) {
        this.inc({ cache, result: "hit" }, hits);
        this.inc({ cache, result: "miss" }, misses);
      }
    },
  });
  new Counter({
    name: "office_sql_json_operations_total",
    help: "GraphQL operations by how the SQL-JSON path ended: answered, unsupported (left to Grafast), failed",
    labelNames: ["outcome"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(sqlJsonOutcomes()))
        this.inc({ outcome }, count);
    },
  });
  return registry;
}
