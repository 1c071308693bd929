import type { Server } from "node:http";
import express, { type Express, type RequestHandler } from "express";
import { grafserv } from "postgraphile/grafserv/express/v4";
import { makeOperations } from "../assistant/operations.ts";
import { makeFindPrincipal } from "../auth/findPrincipal.ts";
import { requestSettings } from "../auth/identity.ts";
import type { Config } from "../config.ts";
import { errorHandler } from "../errors/errorHandler.ts";
import { makeErrorMask } from "../errors/toPublicError.ts";
import type { VariableLimits } from "../graphql/checkVariables.ts";
import { admissionControl } from "../http/admissionControl.ts";
import { crossOrigin, securityHeaders } from "../http/answerHeaders.ts";
import { assistant } from "../http/assistant/assistant.ts";
import { loadConsole } from "../http/console.ts";
import { correlation } from "../http/correlation.ts";
import { makeDocumentFinder } from "../http/documentFinder.ts";
import { loadDocumentation } from "../http/documentation.ts";
import { calendarFeeds } from "../http/calendarFeeds.ts";
import { downloads } from "../http/downloads.ts";
import type { Drain } from "../http/drain.ts";
import {
  graphqlBody,
  graphqlMethods,
  makeDocumentGate,
  deferInvalidVariable,
} from "../http/graphqlGate.ts";
import { health } from "../http/health.ts";
import { jsonBody } from "../http/jsonBody.ts";
import { login } from "../http/login.ts";
import { ownHosts } from "../http/ownHosts.ts";
import { methodNotAllowed } from "../http/methodNotAllowed.ts";
import { loadPlayground } from "../http/playground.ts";
import { limitRate } from "../http/rateLimit.ts";
import {
  authenticateLongRequests,
  readRequestContext,
  requestIdentity,
  requestTenant,
} from "../http/requestInfo.ts";
import { makeSessionCookies } from "../http/sessionCookie.ts";
import { sqlJsonExecutor } from "../http/sqlJsonExecutor.ts";
import { startPage } from "../http/startPage.ts";
import { traceRequests } from "../http/traceRequests.ts";
import { workbooks } from "../http/workbooks.ts";
import { measureRequests } from "../metrics/requestMetrics.ts";
import { nodeOrigin } from "../settings/search.ts";
import { tracing } from "../telemetry/tracing.ts";
import type { Tenants } from "../tenants/tenants.ts";
import type { UploadReader } from "../uploads/uploadReader.ts";
import type { Api } from "./buildSchema.ts";
import { createHttpServer } from "./httpServer.ts";
import type { Monitoring } from "./monitoring.ts";
import type { ServerDatabase } from "./openDatabase.ts";
import type { ServerGateways } from "./openGateways.ts";
import { loadPersistedOperations } from "./persistedOperations.ts";
import { makePrincipalReads, principalOptions } from "./principalReads.ts";
import { notFound } from "../errors/PublicError.ts";

/** A client that reads nothing of its answer for so long is disconnected, in milliseconds. */
const slowReaderMs = 15_000;

/** The dependencies of the routes. */
export interface RouteOptions {
  config: Config;
  database: ServerDatabase;
  gateways: ServerGateways;
  tenants: Tenants | null;
  api: Api;
  uploads: UploadReader;
  drain: Drain;
  monitoring: Monitoring;
  /** The address at which browsers reach the server; known when it listens. */
  publicUrl: () => string;
}

/** The HTTP server, not yet listening, and how to end the assistant's streams. */
interface Routes {
  server: Server;
  stopAssistant: () => Promise<void>;
}

/** Mounts all handlers. A request passes them in the order of this function. */
export async function mountRoutes(options: RouteOptions): Promise<Routes> {
  const { config, database, gateways, tenants, api, uploads, drain, monitoring } = options;
  const { pool, constraints } = database;
  const { registry, log } = monitoring;
  const settings = requestSettings(config);
  const sessionCookies = makeSessionCookies({
    production: config.production,
    publicUrl: options.publicUrl,
    maxDays: config.session.maxDays,
  });
  const findPrincipal = makeFindPrincipal(pool, principalOptions(config));
  const info = {
    findPrincipal,
    mainTenant: config.database.schema,
    tenants,
    sessionCookies,
  };
  const readContext = readRequestContext(info);
  const rateLimit = limitRate(config.limits);
  const playground = config.production ? null : await loadPlayground();
  if (!config.production && !playground) log.warn({ package: "ruru" }, "playground not installed");
  const documentation = config.production ? null : await loadDocumentation();

  const app = express();
  app.disable("x-powered-by");
  // `/GRAPHQL` and `/graphql/` are other paths, as for PostGraphile and for the rules of a proxy.
  app.enable("case sensitive routing").enable("strict routing");
  app.set("trust proxy", config.trustedProxies);

  // Outside Express: the server rejects requests before Express sees them while its queue is full.
  // Those rejections get the drain's and the browser's headers, too.
  const admission = admissionControl(registry, {
    ...config.load,
    readMs: slowReaderMs,
    leftMs: config.database.statementTimeoutMs * 2,
  });
  // The playground's page needs inline scripts.
  const security = securityHeaders(config.production ? {} : { contentSecurityPolicy: false });
  const cors = crossOrigin(config.allowedOrigins);
  const server = createHttpServer(app, admission, [drain.track, security, cors]);
  drain.watch(server);

  // 1. Every request: tracked for the drain first, so that no failure below hides it.
  app.use(drain.track);
  // The span comes before the correlation id, whose log line holds the trace id.
  if (tracing()) app.use(traceRequests);
  // Everything below logs, counts and fails with this scope.
  app.use(correlation(log), measureRequests(registry), security, cors);

  if (!config.production) app.use(ownHosts(options.publicUrl));

  // 2. Health checks, before anything that a busy server rejects.
  app.use(health(pool, drain.state));

  // 3. Methods and Accept of /graphql, then the pages for browsers; the playground answers the remaining GET requests.
  app.use("/graphql", graphqlMethods(playground !== null));
  if (playground) app.use(playground);
  if (documentation) app.use(documentation);
  const adminConsole = await loadConsole({
    folder: config.console.folder,
    connectTo: (config.search.publicNodes ?? []).map(nodeOrigin),
    imagesFrom: config.console.imageHosts,
    reloads: !config.production,
    log,
  });
  app.use(adminConsole.router);
  app.use(
    startPage({
      isConsoleBuilt: adminConsole.isBuilt,
      redirects: config.production,
      playground: playground !== null,
      documentation: documentation !== null,
      login: config.login.providers.length > 0,
    }),
  );

  // 4. GraphQL operations, up to those that Grafast executes (step 6).
  await mountGraphql(app, { ...options, info, rateLimit, acquire: admission.acquire });

  // 5. All other routes: login, calendars, exports, the assistant.
  app.use(login({ ...options, pool, tenant: config.database.schema, sessionCookies, log }));
  const counted = {
    pool,
    settings,
    readRequestContext: [...readContext, rateLimit.byToken, rateLimit.byAddress],
  };
  app.use(calendarFeeds({ ...counted, publicUrl: options.publicUrl }));
  const exportOptions = { ...counted, files: gateways.files };
  app.use(downloads({ ...exportOptions, linkSeconds: config.exports.linkSeconds }));
  const { exportedFields } = api.schema.extensions;
  if (!exportedFields) throw new Error("The schema has no fields of templates");
  const { workbookBytes: limitBytes } = config.exports;
  app.use(workbooks({ ...exportOptions, uploads, limitBytes, exportedFields }));
  const { router, stop: stopAssistant } = assistant({
    config: config.assistant,
    pool,
    settings,
    findPrincipal,
    bodyBytes: config.limits.bodyBytes,
    operations: makeOperations({
      schema: () => api.schema,
      resolvedPreset: () => api.graphile.getResolvedPreset(),
      documents: api.documents,
      publicError: makeErrorMask({ constraints, log }),
    }),
    model: gateways.model,
    engine: gateways.engine,
    files: gateways.files,
    uploads,
    readRequestContext: readContext,
    log,
  });
  app.use(router);

  // 6. PostGraphile: executes the GraphQL operations that no handler of step 4 answered.
  await api.graphile.createServ(grafserv).addTo(app, server, false);

  // 7. Nothing answered. The routes must all be mounted by now, since this reads their methods.
  app.use(methodNotAllowed(app.router));
  app.use((_request, _response, next) => {
    next(notFound("Not found"));
  });
  // Last, so that it handles the errors of all handlers above.
  app.use(errorHandler(log, constraints));
  return { server, stopAssistant };
}

interface GraphqlOptions extends RouteOptions {
  info: Parameters<typeof requestIdentity>[0];
  rateLimit: ReturnType<typeof limitRate>;
  acquire: RequestHandler;
}

/** Mounts the handlers of `POST /graphql`, in their order. Cheap checks come before those that use the database. */
async function mountGraphql(app: Express, options: GraphqlOptions): Promise<void> {
  const { config, database, api, info, rateLimit, monitoring } = options;
  const { documents } = api;
  const { log } = monitoring;
  const schema = () => api.schema;
  const persisted = await loadPersistedOperations(config.persistedOperations, documents, log);
  const findDocument = makeDocumentFinder(persisted, config.persistedOperations.mode === "only");
  const limits = variableLimits(config);
  const publicError = makeErrorMask({ constraints: database.constraints, log });
  const { gate, cleansUp, failure } = makeDocumentGate(documents, publicError, { schema, limits });
  const { queryAsPrincipal, readReplica, maySkipPrimary } = makePrincipalReads(
    config,
    database,
    api,
    info.findPrincipal,
  );

  app.post(
    "/graphql",
    ...jsonBody(config.limits.bodyBytes, deferInvalidVariable, limits.values),
    graphqlBody(findDocument),
    // Only when the body is read: a client that sends slowly holds no slot.
    options.acquire,
    // Rejects invalid documents and variables before any look-up.
    gate,
    requestTenant(info, (request, { isPublic }) =>
      cleansUp(request) ? "none" : isPublic ? "create" : "existing",
    ),
    // By token needs no look-up and comes first; by address applies to anonymous requests only.
    rateLimit.byToken,
    ...authenticateLongRequests(requestIdentity(info), rateLimit.byAddress),
    // Authenticates in the statement that reads. The look-up below is for operations that Grafast executes.
    sqlJsonExecutor({ config, documents, schema, queryAsPrincipal, readReplica, publicError }),
    requestIdentity({ ...info, maySkipPrimary }),
    rateLimit.byAddress,
    // Errors of the handlers above, as GraphQL responses.
    failure,
  );
}

/** The longest list that an operation takes is an export's product ids. */
function variableLimits({ limits, exports }: Config): VariableLimits {
  return {
    values: Math.max(limits.variableValues, exports.maxProducts + 1_000),
    listItems: Math.max(50_000, exports.maxProducts),
  };
}
