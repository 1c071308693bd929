import type { Logger } from "pino";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Replica } from "./replica.ts";
import type { ReplicaLag } from "./replicaLag.ts";

interface ReplicaMetricsOptions {
  registry: Registry;
  replica: Replica;
  /** Queries both databases. */
  lag: () => Promise<ReplicaLag>;
  log: Logger;
}

/** Registers metrics of the replica: where reads were answered, and its lag at each scrape. */
export function watchReplica({ registry, replica, lag, log }: ReplicaMetricsOptions): void {
  const registers = [registry];
  new Counter({
    name: "office_replica_reads_total",
    help: "Reads that a replica may answer: it answered, or left them to the primary because it was late, away, or refused",
    labelNames: ["outcome"],
    registers,
    collect() {
      // Set from counters that only grow.
      this.reset();
      for (const [outcome, count] of Object.entries(replica.counts())) this.inc({ outcome }, count);
    },
  });
  // Metrics are collected concurrently: the first one queries the databases for all.
  let refreshing: Promise<void> | undefined;
  const collect = () => (refreshing ??= refreshOnce().finally(() => (refreshing = undefined)));
  const bytesBehind = new Gauge({
    name: "office_replica_lag_bytes",
    help: "Write-ahead log that the replica has not replayed; NaN where it cannot be looked at",
    registers,
    collect,
  });
  const secondsBehind = new Gauge({
    name: "office_replica_lag_seconds",
    help: "How long the replica takes to show what the primary shows; where that is long, the age of the newest change that it shows; NaN where it cannot be looked at",
    registers,
    collect,
  });

  async function refreshOnce(): Promise<void> {
    const found = await lag().catch((error: unknown) => {
      log.warn({ err: error }, "the replica could not be looked at for the metrics");
      return { bytes: NaN, seconds: NaN };
    });
    bytesBehind.set(found.bytes);
    secondsBehind.set(found.seconds);
  }
}
