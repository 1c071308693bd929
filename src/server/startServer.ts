import type { DestinationStream } from "pino";
import type { Config } from "../config.ts";
import { makeExternalSystems } from "../health/externalSystems.ts";
import { makeDrain } from "../http/drain.ts";
import { listenOnSeveralSockets } from "../http/listen.ts";
import { makeRegistry } from "../metrics/makeRegistry.ts";
import { startOperationsServer } from "../metrics/operationsServer.ts";
import { createLog } from "../process/log.ts";
import { loadTracing } from "../telemetry/loadTracing.ts";
import { tracing } from "../telemetry/tracing.ts";
import { makeUploadReader } from "../uploads/uploadReader.ts";
import { buildSchema } from "./buildSchema.ts";
import { createTenants } from "./createTenants.ts";
import type { Monitoring } from "./monitoring.ts";
import { openDatabase } from "./openDatabase.ts";
import { openGateways } from "./openGateways.ts";
import { mountRoutes } from "./routes.ts";

/** A server that accepts requests. */
export interface RunningServer {
  url: string;
  /** Finishes the requests in progress, within the configured time, and closes everything. */
  stop(reason: string): Promise<void>;
}

/**
 * Starts the server: GraphQL, login, downloads, the assistant and the health checks. The log goes to standard output unless
 * `logDestination` is set.
 * @throws ConfigError when a setting is missing or the database's schema violates a rule
 */
export async function startServer(
  config: Config,
  logDestination?: DestinationStream,
): Promise<RunningServer> {
  const log = createLog(config.logLevel, logDestination).child({ process: "server" });
  for (const { name, nearest } of config.unknownSettings)
    log.warn({ name, nearest }, "unknown setting");
  await loadTracing(config.telemetry, "server");
  const systems = makeExternalSystems();
  const monitoring = { registry: makeRegistry(systems, config.metrics.port), systems, log };

  const database = await openDatabase(config, monitoring);
  const { pool, ownerPool, replica, constraints } = database;
  const gateways = openGateways(config, monitoring);
  const { schema: tenant, extraSqlDir } = config.database;
  const tenants = ownerPool
    ? createTenants(ownerPool, tenant, log, { extraSqlDir, ...gateways })
    : null;

  let publicUrl = config.publicUrl ?? "";
  const api = await buildSchema({
    config,
    publicUrl: () => publicUrl,
    pool,
    tenant,
    tenants,
    constraints,
    engine: gateways.engine,
    replica: replica?.reads ?? null,
    log,
  });
  await database.unlockSchema();

  const uploads = makeUploadReader(config.uploads, monitoring);
  const drain = makeDrain();
  const { server, stopAssistant } = await mountRoutes({
    config,
    database,
    gateways,
    tenants,
    api,
    uploads,
    drain,
    monitoring,
    publicUrl: () => publicUrl,
  });

  const listening = await listenOnSeveralSockets(server, config.host, config.port);
  publicUrl ||= `http://${config.host}:${listening.port}`;
  const operations = await openOperationsPort(config, monitoring);
  log.info({ url: publicUrl }, "ready");

  return {
    url: publicUrl,
    async stop(reason) {
      log.info({ reason }, "stopping");
      const started = performance.now();
      await drain.finish(server, listening, {
        delayMs: config.shutdownDelayMs,
        wholeMs: config.shutdownSeconds * 1000,
      });
      await stopAssistant();
      await uploads.stop();
      await api.graphile.release();
      await operations?.stop();
      gateways.close();
      await tracing()?.stop();
      await database.close();
      log.info({ ms: Math.round(performance.now() - started) }, "stopped");
    },
  };
}

async function openOperationsPort(config: Config, monitoring: Monitoring) {
  const { port, host } = config.metrics;
  if (port === null) return null;
  return startOperationsServer({
    process: "server",
    host,
    port,
    setting: "METRICS_PORT",
    mayMove: !config.production,
    ...monitoring,
  });
}
