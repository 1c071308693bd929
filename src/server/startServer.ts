import { createServer } from "node:http";
import express from "express";
import type { DestinationStream } from "pino";
import { postgraphile } from "postgraphile";
import { grafserv } from "postgraphile/grafserv/express/v4";
import { type Config, ConfigError } from "../config.ts";
import { makeOperations } from "../assistant/operations.ts";
import { requestSettings } from "../auth/identity.ts";
import { poolFor } from "../postgres/pools.ts";
import { createTenants } from "./createTenants.ts";
import { makePreset, preparedStatements } from "../graphile.config.ts";
import { makeS3Files } from "../gateways/s3Files.ts";
import { makeTypesense } from "../gateways/typesense.ts";
import { warnIfOutdated } from "../search/engineVersion.ts";
import type { VariableLimits } from "../graphql/checkVariables.ts";
import { readConstraints } from "../errors/constraints.ts";
import { makeDocuments } from "../graphql/documents.ts";
import { type PersistedDocuments, readPersistedDocuments } from "../graphql/persistedDocuments.ts";
import { makeErrorMask } from "../errors/toPublicError.ts";
import { makeModelGateway } from "../gateways/makeModelGateway.ts";
import { crossOrigin, securityHeaders } from "../http/answerHeaders.ts";
import { assistant } from "../http/assistant/assistant.ts";
import { correlation } from "../http/correlation.ts";
import { sqlJsonExecutor } from "../http/sqlJsonExecutor.ts";
import { makeDocumentFinder } from "../http/documentFinder.ts";
import { downloads } from "../http/downloads.ts";
import { makeDrain } from "../http/drain.ts";
import {
  graphqlBody,
  graphqlMethods,
  makeDocumentGate,
  noteBrokenVariable,
} from "../http/graphqlGate.ts";
import { health } from "../http/health.ts";
import { admissionControl } from "../http/admissionControl.ts";
import { withAdmissionControl } from "../http/withAdmissionControl.ts";
import { errorHandler, HttpError } from "../errors/HttpError.ts";
import { jsonBody } from "../http/jsonBody.ts";
import { listenForMany } from "../http/listen.ts";
import { login } from "../http/login.ts";
import { otherMethods } from "../http/otherMethods.ts";
import { loadDocumentation } from "../http/documentation.ts";
import { loadPlayground } from "../http/playground.ts";
import { startPage } from "../http/startPage.ts";
import {
  longRequestsOfKnown,
  requestTenant,
  requestIdentity,
  readRequestContext,
} from "../http/requestInfo.ts";
import { limitRate } from "../http/rateLimit.ts";
import { workbooks } from "../http/workbooks.ts";
import { makeExternalSystems } from "../health/externalSystems.ts";
import { makeRegistry } from "../metrics/makeRegistry.ts";
import { startOperationsServer } from "../metrics/operationsServer.ts";
import { watchPools } from "../metrics/poolMetrics.ts";
import { measureRequests } from "../metrics/requestMetrics.ts";
import { providerSystem } from "../auth/oidc/providerSystem.ts";
import { traceRequests } from "../http/traceRequests.ts";
import { loadTracing } from "../telemetry/loadTracing.ts";
import { tracing } from "../telemetry/tracing.ts";
import { createLog } from "../process/log.ts";
import { makeServingPlugin } from "../plugins/ServingPlugin.ts";
import { answerMarginMs } from "../postgres/limitResponseTime.ts";
import { createSharedConnections } from "../postgres/sharedConnections.ts";
import { openReplica } from "../postgres/openReplica.ts";
import { makeReadReplicaAsPrincipal } from "../auth/queryReplica.ts";
import { makeFindPrincipal, makeQueryAsPrincipal } from "../auth/queryAsPrincipal.ts";
import { makeUploadReader } from "../uploads/uploadReader.ts";
import { recordsNothing } from "../audit/recordsNothing.ts";
import { lockValidSchema, warnOfInsecureSettings } from "./startChecks.ts";

/** A client that takes nothing of its answer for so long is cut off, in milliseconds. */
const slowReaderMs = 15_000;
/** How long one statement that makes or removes a test tenant may take, in milliseconds. */
const testTenantAnswerMs = 60_000;

/** Nothing takes a longer list than an export takes product ids. */
function variableLimits({ limits, exports }: Config): VariableLimits {
  return {
    values: Math.max(limits.variableValues, exports.maxProducts + 1_000),
    listItems: Math.max(50_000, exports.maxProducts),
  };
}

/** A server that serves. */
export interface RunningServer {
  url: string;
  /** Answers what has been asked, within the time that the settings give it, and lets go of everything. */
  stop(reason: string): Promise<void>;
}

/**
 * Serves GraphQL and the health checks until it is told to stop. The log goes to standard output where `logTo` is not given.
 * @throws ConfigError when the schema breaks a rule of the house or a setting is missing
 */
export async function startServer(
  config: Config,
  logTo?: DestinationStream,
): Promise<RunningServer> {
  const log = createLog(config.logLevel, logTo).child({ process: "server" });
  for (const { name, nearest } of config.unknownSettings)
    log.warn({ name, nearest }, "unknown setting");
  await loadTracing(config.telemetry, "server");
  const {
    url,
    ownerUrl,
    schema: tenant,
    poolSize,
    extraSqlDir,
    statementTimeoutMs,
  } = config.database;
  if (!url)
    throw new ConfigError([
      "DATABASE_URL is required; `npm start` provides an embedded PostgreSQL by itself",
    ]);

  const answerMs = statementTimeoutMs + answerMarginMs;
  const pool = poolFor(url, "office_server", poolSize, {
    answerMs,
    connectionTimeoutMillis: 5_000,
    pipeline: true,
  });
  const sharedConnections = {
    reads: createSharedConnections(pool),
    changes: createSharedConnections(pool),
  };
  const ownerPool =
    config.testMode && ownerUrl
      ? poolFor(ownerUrl, "office_owner", 4, { answerMs: Math.max(answerMs, testTenantAnswerMs) })
      : null;
  const systems = makeExternalSystems();
  const registry = makeRegistry(systems, config.metrics.port);
  const prepared = preparedStatements(config);
  const replica = openReplica({ config, primary: pool, prepared, registry, systems, log });
  const pools = { requests: pool, ...(replica && { replica: replica.pool }) };
  watchPools(registry, pools, { requests: Object.values(sharedConnections) });
  const letGo = await lockValidSchema(url, { pool, tenant, log });
  await warnOfInsecureSettings(config, { pool, tenant, log });
  const constraints = await readConstraints(pool, tenant);
  const files = makeS3Files(config.files);
  const engine = makeTypesense(config.search);
  const tenants = ownerPool
    ? createTenants(ownerPool, tenant, (line) => log.info(line), { extraSqlDir, files, engine })
    : null;
  const documents = makeDocuments(() => schema, config);
  const graphile = postgraphile({
    extends: [
      makePreset({
        config,
        pool,
        tenant,
        tenants,
        constraints,
        engine,
        replica: replica?.reads ?? null,
        log,
      }),
    ],
    plugins: [makeServingPlugin(documents)],
  });
  const schema = await graphile.getSchema();
  await letGo();

  const app = express();
  app.disable("x-powered-by");
  app.set("trust proxy", config.trustedProxies);
  const state = { stopping: false };
  const { track, watch, drain } = makeDrain(state);
  app.use(track);
  if (tracing()) app.use(traceRequests);
  app.use(correlation(log));
  app.use(measureRequests(registry));
  // The playground's page is made of scripts.
  const secure = securityHeaders(config.production ? {} : { contentSecurityPolicy: false });
  const shared = crossOrigin(config.allowedOrigins);
  app.use(secure, shared);
  app.use(health(pool, state));
  const load = admissionControl(registry, {
    ...config.load,
    readMs: slowReaderMs,
    leftMs: config.database.statementTimeoutMs * 2,
  });
  let publicUrl = config.publicUrl ?? "";

  systems.add({
    name: "database",
    storage: "database",
    check: async () => {
      await pool.query("select 1");
      return undefined;
    },
  });
  if (config.files.endpoint !== undefined)
    systems.add({
      name: "files",
      storage: "files",
      check: (signal) => files.check(signal),
      circuit: () => files.circuit(),
    });
  if (engine) {
    systems.add({ name: "search", check: () => engine.check(), circuit: () => engine.circuit() });
    warnIfOutdated(engine, log);
  }
  for (const provider of config.login.providers) systems.add(providerSystem(provider));

  const publicError = makeErrorMask({ constraints, log });
  const { gate, cleansUp, failure } = makeDocumentGate(documents, publicError, {
    schema: () => schema,
    limits: variableLimits(config),
  });
  const { idleHours } = config.session;
  const finding = { prepared, idleHours };
  const queryAsPrincipal = makeQueryAsPrincipal(pool, sharedConnections, finding);
  const readAs =
    replica &&
    makeReadReplicaAsPrincipal(queryAsPrincipal, makeFindPrincipal(pool, finding), replica.reads);
  const info = { pool, mainTenant: tenant, tenants, idleHours };
  const playground = config.production ? null : await loadPlayground();
  if (!config.production && !playground) log.warn({ package: "ruru" }, "playground not installed");
  app.use("/graphql", graphqlMethods(playground !== null));
  if (playground) app.use(playground);
  const documentation = config.production ? null : await loadDocumentation();
  if (documentation) app.use(documentation);
  app.use(
    startPage({
      playground: playground !== null,
      documentation: documentation !== null,
      login: config.login.providers.length > 0,
    }),
  );
  const maySkipPrimary = (request: express.Request) => {
    if (!replica || replica.reads.rests()) return false;
    const { query, operationName } = request.body as { query: string; operationName?: string };
    const { document } = documents.read(query);
    return document !== undefined && recordsNothing(schema, document, operationName);
  };
  const { place, mode } = config.persistedOperations;
  const persisted =
    place === undefined || mode === "off" ? null : await readPersistedDocuments(place);
  if (persisted) warnOfUnreadable(persisted);
  const counted = limitRate(config.limits);
  app.post(
    "/graphql",
    ...jsonBody(config.limits.bodyBytes, noteBrokenVariable, variableLimits(config).values),
    graphqlBody(makeDocumentFinder(persisted, mode === "only")),
    load.acquire,
    gate,
    requestTenant(info, (request, { isNobodys }) =>
      cleansUp(request) ? "none" : isNobodys ? "create" : "existing",
    ),
    counted.byToken,
    ...longRequestsOfKnown(requestIdentity(info), counted.byAddress),
    sqlJsonExecutor({
      config,
      documents,
      schema: () => schema,
      queryAsPrincipal,
      readAs,
      publicError,
    }),
    requestIdentity({ ...info, maySkipPrimary }),
    counted.byAddress,
    failure,
  );
  app.use(login({ config, pool, tenant, tenants, log, publicUrl: () => publicUrl }));
  const uploads = makeUploadReader(config.uploads, { registry, log });
  const ofExports = {
    pool,
    settings: requestSettings(config),
    files,
    readRequestContext: [...readRequestContext(info), counted.byToken, counted.byAddress],
  };
  app.use(downloads({ ...ofExports, linkSeconds: config.exports.linkSeconds }));
  app.use(workbooks({ ...ofExports, uploads, limitBytes: config.exports.workbookBytes }));
  const model = makeModelGateway(config.assistant);
  if (model) systems.add({ name: "language model", circuit: model.circuit });
  const helper = assistant({
    config: config.assistant,
    pool,
    settings: requestSettings(config),
    idleHours: config.session.idleHours,
    bodyBytes: config.limits.bodyBytes,
    model,
    operations: makeOperations({
      schema: () => schema,
      resolvedPreset: () => graphile.getResolvedPreset(),
      documents,
      publicError,
    }),
    engine,
    files,
    uploads,
    readRequestContext: readRequestContext(info),
    log,
  });
  app.use(helper.router);
  const graphql = graphile.createServ(grafserv);
  // Node looks for connections beyond their time every 30 s, which would add that much to each limit.
  const server = createServer(
    { connectionsCheckingInterval: 5_000 },
    withAdmissionControl(app, load, [track, secure, shared]),
  );
  watch(server);
  await graphql.addTo(app, server, false);
  app.use(otherMethods(app.router));
  app.use((_request, _response, next) => {
    next(new HttpError(404, "NOT_FOUND", "There is nothing here"));
  });
  app.use(errorHandler(log, constraints));

  // A client that sends slowly holds a connection for this long at most, and nothing else.
  server.headersTimeout = 15_000;
  server.requestTimeout = 60_000;
  server.keepAliveTimeout = 65_000;
  const listening = await listenForMany(server, config.host, config.port);
  publicUrl ||= `http://${config.host}:${listening.port}`;
  const operations =
    config.metrics.port === null
      ? null
      : await startOperationsServer({
          process: "server",
          host: config.metrics.host,
          port: config.metrics.port,
          setting: "METRICS_PORT",
          mayMove: !config.production,
          registry,
          systems,
          log,
        });
  log.info({ url: publicUrl }, "ready");
  return {
    url: publicUrl,
    async stop(reason) {
      log.info({ reason }, "stopping");
      const wholeMs = config.shutdownSeconds * 1000;
      await drain(server, listening, { delayMs: config.shutdownDelayMs, wholeMs });
      await helper.stop();
      await uploads.stop();
      await graphile.release();
      await operations?.stop();
      files.close();
      engine?.close();
      await tracing()?.stop();
      await Promise.all([pool.end(), ownerPool?.end(), replica?.pool.end()]);
    },
  };

  /** Documents of a front end of another release than this schema. */
  function warnOfUnreadable(known: PersistedDocuments): void {
    const unreadable = [...known].filter(([, document]) => documents.read(document).errors);
    if (unreadable.length > 0)
      log.warn(
        { hashes: unreadable.slice(0, 20).map(([hash]) => hash), count: unreadable.length },
        "persisted documents cannot be executed: they are of another release",
      );
  }
}
