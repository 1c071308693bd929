import { PgAggregatesPreset } from "@graphile/pg-aggregates";
import { PgSimplifyInflectionPlugin } from "@graphile/simplify-inflection";
import type { Pool } from "pg";
import type { Logger } from "pino";

import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import type { Tenants } from "./tenants/tenants.ts";
import { makeAttemptCounter } from "./auth/attempts.ts";
import { requestSettings, settingsOf } from "./auth/identity.ts";
import type { Config } from "./config.ts";
import type { SearchEngine } from "./gateways/search.ts";
import type { Constraint } from "./errors/constraints.ts";
import { makeErrorMask } from "./errors/toPublicError.ts";
import { countLookup } from "./health/cacheCounts.ts";
import { AggregatesPlugin } from "./plugins/AggregatesPlugin.ts";
import { ApiTokensPlugin } from "./plugins/ApiTokensPlugin.ts";
import { AuditPlugin, SqlJsonAuditPlugin } from "./plugins/AuditPlugin.ts";
import { BehaviorCachePlugin } from "./plugins/BehaviorCachePlugin.ts";
import { SqlJsonMePlugin, makeAuthPlugin } from "./plugins/AuthPlugin.ts";
import { makeLoginOptionsPlugin } from "./plugins/LoginOptionsPlugin.ts";
import { makeLoginPlugin } from "./plugins/LoginPlugin.ts";
import { makeCalendarFeedsPlugin } from "./plugins/CalendarFeedsPlugin.ts";
import { BulkMutationsPlugin, BulkResultPlugin } from "./plugins/BulkMutationsPlugin.ts";
import { ConsoleMetadataPlugin, makeConsolePlugin } from "./plugins/ConsolePlugin.ts";
import { ColumnRulesPlugin } from "./plugins/ColumnRulesPlugin.ts";
import { ConnectionsPlugin } from "./plugins/ConnectionsPlugin.ts";
import { DescriptionsPlugin } from "./plugins/DescriptionsPlugin.ts";
import { DataExportPlugin } from "./plugins/DataExportPlugin.ts";
import { ListExportPlugin } from "./plugins/ListExportPlugin.ts";
import { ExportFieldsPlugin, ExportedFieldsPlugin } from "./plugins/ExportFieldsPlugin.ts";
import { ExportTemplatesPlugin } from "./plugins/ExportTemplatesPlugin.ts";
import { FunctionFieldsPlugin } from "./plugins/FunctionFieldsPlugin.ts";
import { GrantsPlugin } from "./plugins/GrantsPlugin.ts";
import { GuardsPlugin } from "./plugins/GuardsPlugin.ts";
import { ImportIssuesPlugin } from "./plugins/ImportIssuesPlugin.ts";
import { JobsPlugin } from "./plugins/JobsPlugin.ts";
import { ListsPlugin } from "./plugins/ListsPlugin.ts";
import { makeMutationTransactionPlugin } from "./plugins/MutationTransactionPlugin.ts";
import { ReadAuditPlugin } from "./plugins/ReadAuditPlugin.ts";
import { makeReplicaPlugin } from "./plugins/ReplicaPlugin.ts";
import { RecordHistoryPlugin } from "./plugins/RecordHistoryPlugin.ts";
import { RowVersionPlugin } from "./plugins/RowVersionPlugin.ts";
import { SearchFieldsPlugin } from "./plugins/SearchFieldsPlugin.ts";
import { makeSearchPlugin } from "./plugins/SearchPlugin.ts";
import { SearchWatchesPlugin } from "./plugins/SearchWatchesPlugin.ts";
import { SecretFieldsPlugin } from "./plugins/SecretFieldsPlugin.ts";
import { InflectionCachePlugin } from "./plugins/InflectionCachePlugin.ts";
import { ShapePlugin } from "./plugins/ShapePlugin.ts";
import { SuggestionsPlugin } from "./plugins/SuggestionsPlugin.ts";
import { SyncProductsPlugin } from "./plugins/SyncProductsPlugin.ts";
import { TableMutationsPlugin } from "./plugins/TableMutationsPlugin.ts";
import { VisibilityPlugin } from "./plugins/VisibilityPlugin.ts";
import { makeVariableErrorsPlugin } from "./plugins/VariableErrorsPlugin.ts";
import type { Replica } from "./postgres/replica.ts";
import { makeService } from "./postgres/service.ts";
import { SqlJsonPlugin } from "./plugins/SqlJsonPlugin.ts";
import { keySource, makeParentKeys } from "./search/parentKeys.ts";
import { makeScopedKeys } from "./search/scopedKeys.ts";
import { offersDevLogin } from "./settings/server.ts";

/**
 * How many named statements stay prepared on each connection. A prepared statement keeps the types of the schema in
 * which it was parsed, and test runs share connections across schemas: with test mode none are kept.
 */
export function preparedStatements({
  testMode,
  database,
}: Pick<Config, "testMode" | "database">): number {
  return testMode ? 0 : database.preparedStatements;
}

/** The inputs of the API's preset. */
export interface PresetOptions {
  config: Config;
  /** Acts as `office_server`. */
  pool: Pool;
  /** The main schema, whose shape all tenants share. */
  tenant: string;
  tenants: Tenants | null;
  constraints: ReadonlyMap<string, Constraint>;
  /** The address at which browsers reach the server; known when it listens. */
  publicUrl: () => string;
  /** Null or absent when no search engine is configured. */
  engine?: SearchEngine | null;
  /** Null or absent without a replica. */
  replica?: Replica | null;
  log: Logger;
}

/** The preset that turns the main schema, as the request role sees it, into the API. */
export function makePreset(options: PresetOptions): GraphileConfig.Preset {
  const { config, pool, tenant, tenants, constraints, log } = options;
  const findParentKey =
    options.engine && makeParentKeys(pool, options.engine, keySource(config.search));
  const maskError = makeErrorMask({ constraints, log });
  const settings = requestSettings(config);
  const countAttempt = makeAttemptCounter(pool, config.limits.loginAttemptsPerMinute);
  return {
    extends: [PostGraphileAmberPreset, PgAggregatesPreset],
    disablePlugins: [
      // No Relay node ids and no payload wrappers: the published API has neither.
      "NodePlugin",
      "AddNodeInterfaceToSuitableTypesPlugin",
      "NodeAccessorPlugin",
      "RegisterQueryNodePlugin",
      "QueryQueryPlugin",
      "PgTableNodePlugin",
      "PgNodeIdAttributesPlugin",
      "MutationPayloadQueryPlugin",
      "ClientMutationIdDescriptionPlugin",
      "PgMutationPayloadEdgePlugin",
      // Mutations call functions, or come from the tag `@mutations`.
      "PgMutationCreatePlugin",
      "PgMutationUpdateDeletePlugin",
      // The argument `query` is the only filter.
      "PgConditionArgumentPlugin",
      "PgConditionCustomFieldsPlugin",
      // A table's default order comes from its tag `@defaultOrder`.
      "PgConnectionArgOrderByDefaultValuePlugin",
      "SubscriptionPlugin",
      // No ordering and filtering by aggregates: no index could serve them.
      "PgAggregatesSmartTagsPlugin",
      "PgAggregatesAddHavingAggregateTypesPlugin",
      "PgAggregatesAddGroupByAggregateEnumValuesForAttributesPlugin",
      "PgAggregatesOrderByAggregatesPlugin",
      "PgAggregatesFilterRelationalAggregatesPlugin",
    ],
    plugins: [
      simpleInflection,
      BehaviorCachePlugin,
      GrantsPlugin,
      ShapePlugin,
      InflectionCachePlugin,
      FunctionFieldsPlugin,
      TableMutationsPlugin,
      BulkResultPlugin,
      BulkMutationsPlugin,
      ListsPlugin,
      DescriptionsPlugin,
      ColumnRulesPlugin,
      VisibilityPlugin,
      SecretFieldsPlugin,
      makeAuthPlugin({
        session: config.session,
        offersDevLogin: offersDevLogin(config),
        countAttempt,
        tenants,
      }),
      makeLoginPlugin({ session: config.session, countAttempt }),
      makeLoginOptionsPlugin({ config, publicUrl: options.publicUrl }),
      makeCalendarFeedsPlugin({ publicUrl: options.publicUrl }),
      ApiTokensPlugin,
      AuditPlugin,
      SqlJsonAuditPlugin,
      SqlJsonMePlugin,
      SearchFieldsPlugin,
      ConsoleMetadataPlugin,
      makeConsolePlugin(config.console),
      SearchWatchesPlugin,
      SuggestionsPlugin,
      RowVersionPlugin,
      RecordHistoryPlugin,
      makeSearchPlugin({
        nodes: config.search.publicNodes ?? [],
        prefix: config.search.prefix,
        makeKey: makeScopedKeys(findParentKey ?? null),
      }),
      SyncProductsPlugin,
      ImportIssuesPlugin,
      ExportFieldsPlugin,
      ExportedFieldsPlugin,
      ExportTemplatesPlugin,
      DataExportPlugin,
      ListExportPlugin,
      JobsPlugin,
      SqlJsonPlugin,
      GuardsPlugin,
      // After GuardsPlugin: arguments of connections are checked after their guards.
      ConnectionsPlugin,
      AggregatesPlugin,
      makeVariableErrorsPlugin(config.introspection),
      // Before ReadAuditPlugin: the audit of reads runs inside the transaction.
      makeMutationTransactionPlugin(maskError),
      ReadAuditPlugin,
      ...(options.replica ? [makeReplicaPlugin(options.replica)] : []),
      makePlanCachePlugin(config.limits.planCache),
    ],
    pgServices: [makeService(pool, tenant, preparedStatements(config))],
    gather: {
      // One process serves any number of tenants of the same shape, chosen by the search path.
      pgIdentifiers: "unqualified",
    },
    schema: {
      defaultBehavior:
        "-queryField -mutationField -typeField -manyRelation:resource:list -manyRelation:resource:connection -singularRelation:resource:single -insert -update -delete",
      pgOmitListSuffix: true,
      pgForbidSetofFunctionsToReturnNull: true,
      // Otherwise a type that cannot be built would be missing from the API, with only a warning.
      dontSwallowErrors: true,
    },
    grafast: {
      context: (grafast) => {
        const requestContext =
          grafast.requestContext ?? grafast.expressv4?.res.locals.requestContext;
        if (!requestContext)
          throw new Error("A GraphQL request came past the middleware that finds out who sends it");
        return { requestContext, pgSettings: settingsOf(requestContext, settings) };
      },
    },
    grafserv: {
      graphqlPath: "/graphql",
      // src/http/playground.ts serves it.
      graphiql: false,
      graphiqlOnGraphQLGET: false,
      maxRequestLength: config.limits.bodyBytes,
      websockets: false,
      maskError,
    },
  };
}

/** Short names. Some plugins whose names it replaces are disabled here, so its warning is suppressed. */
const simpleInflection: GraphileConfig.Plugin = {
  ...PgSimplifyInflectionPlugin,
  inflection: {
    ...PgSimplifyInflectionPlugin.inflection,
    ignoreReplaceIfNotExists: Object.keys(
      PgSimplifyInflectionPlugin.inflection?.replace ?? {},
    ) as never,
  },
};

/** Limits the cache of operation plans: each holds memory, and creating one takes milliseconds. */
function makePlanCachePlugin(size: number): GraphileConfig.Plugin {
  const made = new WeakSet();
  return {
    name: "PlanCachePlugin",
    version: "1.0.0",
    grafast: {
      middleware: {
        establishOperationPlan(next) {
          const plan = next();
          countLookup("plans", made.has(plan));
          made.add(plan);
          return plan;
        },
      },
    },
    schema: {
      hooks: {
        GraphQLSchema: (config) => ({
          ...config,
          extensions: {
            ...config.extensions,
            grafast: { queryCacheMaxLength: size, operationsCacheMaxLength: size },
          },
        }),
      },
    },
  };
}
