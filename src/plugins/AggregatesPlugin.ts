import type { PgCodec, PgResource, PgSelectStep } from "postgraphile/@dataplan/pg";
import { TYPES } from "postgraphile/@dataplan/pg";
import { lambda } from "postgraphile/grafast";
import type { FieldArgs, Step } from "postgraphile/grafast";
import { sql } from "postgraphile/pg-sql2";
import { groupKeys, keysPlan, orderGroups } from "../schema/groupKeys.ts";
import { innerCodec, isHidden } from "../schema/columns.ts";
import { MAX_GROUPS, checkGroups } from "../paging/groupArguments.ts";
import { checkOffset } from "../paging/pageArguments.ts";
import { hasPages } from "../schema/listedTables.ts";
import { replaceLibraryDescription } from "../schema/libraryDescriptions.ts";

declare global {
  namespace GraphileBuild {
    interface BehaviorStrings {
      aggregate: true;
      aggregates: true;
      groupedAggregates: true;
      "resource:groupedAggregates:having": true;
    }
    interface ScopeObjectFieldsField {
      /** The keys of a group. */
      isPgAggregateKeys?: boolean;
    }
  }
}

interface Connection extends Step {
  cloneSubplanWithoutPagination(mode: "aggregate"): PgSelectStep;
}

/**
 * Adapts the aggregates of connections: only tables tagged as connections have them; hidden columns are left out;
 * timestamps have a minimum and a maximum; groups are by month, by enumeration and by other columns that are not
 * unique, ordered by key, and limited. They respect policies and `query`.
 */
export const AggregatesPlugin: GraphileConfig.Plugin = {
  name: "AggregatesPlugin",
  version: "1.0.0",
  after: ["PgAggregatesSpecsPlugin"],
  schema: {
    behaviorRegistry: {
      add: {
        // Declared by a disabled plugin and requested by another.
        "resource:groupedAggregates:having": {
          description: "Conditions on groups.",
          entities: ["pgResource"],
        },
      },
    },
    entityBehavior: {
      pgResource: {
        override: {
          after: ["override"],
          callback(behavior, resource) {
            const { computed } = (resource.extensions?.tags ?? {}) as Record<string, unknown>;
            const joins = resource.parameters
              ? computed !== undefined && resource.parameters.length === 1
              : hasPages(resource);
            return joins ? behavior : [behavior, "-aggregate", "-aggregates", "-groupedAggregates"];
          },
        },
      },
      pgCodecAttribute: {
        override: {
          after: ["override"],
          callback(behavior, [codec, name]) {
            return isHidden(codec.attributes[name]) ? [behavior, "-aggregate"] : behavior;
          },
        },
      },
    },

    hooks: {
      build: {
        after: ["PgAggregatesSpecsPlugin"],
        callback(build) {
          const times: unknown[] = [TYPES.timestamptz, TYPES.timestamp, TYPES.date];
          build.pgAggregateSpecs = (build.pgAggregateSpecs ?? [])
            .filter((spec) => !/^(stddev|variance)/.test(spec.id))
            .map((spec) =>
              spec.id === "min" || spec.id === "max"
                ? {
                    ...spec,
                    isSuitableType: (codec) =>
                      spec.isSuitableType(codec) || times.includes(innerCodec(codec as PgCodec)),
                  }
                : spec,
            );
          return build;
        },
      },

      GraphQLEnumType(config, _build, { scope }) {
        return scope.isPgAggregateGroupEnum
          ? { ...config, description: "The keys by which rows can be grouped. Times are in UTC." }
          : config;
      },

      GraphQLEnumType_values(values, build, { scope }) {
        const { isPgAggregateGroupEnum, pgTypeResource: resource } = scope;
        if (!isPgAggregateGroupEnum || !resource) return values;
        return build.extend(
          values,
          groupKeys(build, resource as PgResource),
          `AggregatesPlugin: what ${resource.name} can be grouped by`,
        );
      },

      GraphQLObjectType(config, _build, { scope }) {
        if (scope.isPgAggregateContainerType)
          return {
            ...config,
            description: "Aggregates of all matching rows or of a group of them.",
          };
        if (scope.isPgAggregateType && scope.pgAggregateSpec)
          return {
            ...config,
            description: replaceLibraryDescription(
              `${scope.pgAggregateSpec.HumanLabel} aggregates`,
            ),
          };
        return config;
      },

      GraphQLObjectType_fields(fields, build, { scope, fieldWithHooks }) {
        if (!scope.isPgAggregateContainerType) return fields;
        const { GraphQLInt, GraphQLList, GraphQLNonNull, GraphQLString } = build.graphql;
        const { keys: _keys, ...rest } = fields;
        return {
          keys: fieldWithHooks({ fieldName: "keys", isPgAggregateKeys: true }, () => ({
            description:
              "The values of the group's keys, in the order of `groupBy`; null for rows without a value. Empty without groups.",
            type: new GraphQLList(GraphQLString),
            plan: keysPlan,
          })),
          count: fieldWithHooks({ fieldName: "count" }, () => ({
            description: "The number of rows.",
            type: new GraphQLNonNull(GraphQLInt),
            plan: ($row: ReturnType<PgSelectStep["singleAsRecord"]>) =>
              $row.select(sql`count(*)`, TYPES.bigint, false),
          })),
          ...rest,
        };
      },

      GraphQLObjectType_fields_field(field, build, { scope }) {
        if (scope.fieldName === "aggregates" && isAggregates(field.type))
          return {
            ...field,
            description: "Aggregates of all matching rows, on all pages.",
            plan: aggregatesPlan,
          };
        if (scope.fieldName === "keys" && scope.isPgAggregateKeys) {
          // The one list whose items can be null: rows without a value form a group.
          const { GraphQLList, GraphQLNonNull, GraphQLString } = build.graphql;
          return { ...field, type: new GraphQLNonNull(new GraphQLList(GraphQLString)) };
        }
        if (scope.fieldName !== "groupedAggregates" || !field.args?.groupBy) return field;
        const { GraphQLInt, GraphQLNonNull, getNullableType } = build.graphql;
        const { applyPlan: _applyPlan, ...groupBy } = field.args.groupBy;
        return {
          ...field,
          description:
            "Aggregates of groups of all matching rows, on all pages, in the order of their keys.",
          type: new GraphQLNonNull(getNullableType(field.type)),
          args: {
            groupBy: { ...groupBy, description: "The keys of the groups, at least one." },
            first: {
              type: GraphQLInt,
              defaultValue: MAX_GROUPS,
              description: `The maximum number of groups, 0 to ${MAX_GROUPS}.`,
            },
            offset: { type: GraphQLInt, description: "The number of groups to skip." },
          },
          plan: groupedPlan,
        };
      },
    },
  },
};

function isAggregates(type: unknown): boolean {
  return /Aggregates$/.test(String(type));
}

function aggregatesPlan($connection: unknown): Step {
  const $rows = ($connection as Connection).cloneSubplanWithoutPagination("aggregate");
  // All rows form one group also when no aggregate is selected: the library would read each row.
  $rows.having(sql.true);
  return $rows.single();
}

function groupedPlan($connection: unknown, args: FieldArgs): PgSelectStep {
  const $groups = ($connection as Connection).cloneSubplanWithoutPagination("aggregate");
  const $size = lambda([args.getRaw("groupBy"), args.getRaw("first")], ([keys, first]) =>
    checkGroups(keys as readonly unknown[], first as number | null | undefined),
  );
  $groups.setFirst($size);
  $groups.setOffset(
    lambda(args.getRaw("offset"), (offset) => checkOffset(offset as number | null)),
  );
  args.apply($groups, "groupBy");
  orderGroups($groups, args.getRaw("groupBy"));
  return $groups;
}
