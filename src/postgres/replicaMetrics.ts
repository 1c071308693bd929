import type { Logger } from "pino";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Replica } from "./replica.ts";
import type { ReplicaLag } from "./replicaLag.ts";

interface ReplicaMetricsOptions {
  registry: Registry;
  replica: Replica;
  /** Asks both databases. */
  lag: () => Promise<ReplicaLag>;
  log: Logger;
}

/** Shows where reads are answered that a replica may answer, and how far it is behind; it is looked at with each scrape. */
export function watchReplica({ registry, replica, lag, log }: ReplicaMetricsOptions): void {
  const registers = [registry];
  new Counter({
    name: "office_replica_reads_total",
    help: "Reads that a replica may answer: it answered, or left them to the primary because it was late, away, or refused",
    labelNames: ["outcome"],
    registers,
    collect() {
      // Counted elsewhere, and only growing.
      this.reset();
      for (const [outcome, count] of Object.entries(replica.counts())) this.inc({ outcome }, count);
    },
  });
  // The registry asks its metrics at the same time: the first one asks the databases.
  let looking: Promise<void> | undefined;
  const collect = () => (looking ??= look().finally(() => (looking = undefined)));
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

  async function look(): Promise<void> {
    const found = await lag().catch((error: unknown) => {
      log.warn({ err: error }, "the replica could not be looked at for the metrics");
      return { bytes: NaN, seconds: NaN };
    });
    bytesBehind.set(found.bytes);
    secondsBehind.set(found.seconds);
  }
}
