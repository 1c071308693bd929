import { PgSimplifyInflectionPreset } from "@graphile/simplify-inflection";
import { makePgService } from "postgraphile/adaptors/pg";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import type { Pool } from "pg";
import { FunctionFieldsPlugin } from "./plugins/FunctionFieldsPlugin.ts";
import { GuardsPlugin } from "./plugins/GuardsPlugin.ts";
import { ShapePlugin } from "./plugins/ShapePlugin.ts";

/** The preset that turns the schema named `area`, as the request role sees it, into the API. */
export function makePreset(pool: Pool, area: string): GraphileConfig.Preset {
  return {
    extends: [PostGraphileAmberPreset, PgSimplifyInflectionPreset],
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
      // Writes go through functions and through the mutations that tags offer.
      "PgMutationCreatePlugin",
      "PgMutationUpdateDeletePlugin",
      // The `query` argument is the one way to filter.
      "PgConditionArgumentPlugin",
      "PgConditionCustomFieldsPlugin",
      "SubscriptionPlugin",
    ],
    plugins: [ShapePlugin, FunctionFieldsPlugin, GuardsPlugin],
    pgServices: [
      makePgService({
        pool,
        schemas: [area],
        pgSettingsForIntrospection: { role: "office_api" },
      }),
    ],
    gather: {
      // One instance serves any number of areas of the same shape: the search path says which.
      pgIdentifiers: "unqualified",
    },
    schema: {
      defaultBehavior:
        "-queryField -mutationField -typeField -manyRelation:resource:list -manyRelation:resource:connection -singularRelation:resource:single -insert -update -delete",
      pgOmitListSuffix: true,
      pgForbidSetofFunctionsToReturnNull: true,
    },
  };
}
