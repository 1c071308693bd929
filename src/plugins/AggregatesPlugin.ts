import type {
  PgCodec,
  PgResource,
  PgSelectQueryBuilder,
  PgSelectStep,
} from "postgraphile/@dataplan/pg";
import { TYPES } from "postgraphile/@dataplan/pg";
import { lambda } from "postgraphile/grafast";
import type { FieldArgs, Step } from "postgraphile/grafast";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { OfficeError } from "../errors.ts";
import { checkOffset } from "./pageArguments.ts";

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace GraphileBuild {
    interface BehaviorStrings {
      aggregate: true;
      aggregates: true;
      groupedAggregates: true;
    }
    interface Inflection {
      aggregateGroupByAttributeEnum(details: {
        resource: PgResource;
        attributeName: string;
      }): string;
    }
  }
}

/** Groups of a connection at most. */
const LARGEST_GROUPS = 1000;

/** By how much points in time are rounded down to make groups; always in UTC. */
const spans = ["hour", "day", "week", "month", "quarter", "year"] as const;

/** A column or what is made of it, by which rows can be grouped. */
interface GroupKey {
  name: string;
  /** Its text, as the API shows values of its kind. */
  text: (column: SQL) => SQL;
}

interface Connection extends Step {
  cloneSubplanWithoutPagination(mode: "aggregate"): PgSelectStep;
}

type Tags = Record<string, unknown>;

/**
 * What the aggregates of connections need beside the library's own: only tables tagged `@connection` have them, columns that
 * are hidden take no part, times have a smallest and a greatest, groups are by month, by enumerations and by whatever else is
 * not unique, come in the order of their keys, and are bounded. They see what the caller may see and heed `query`.
 */
export const AggregatesPlugin: GraphileConfig.Plugin = {
  name: "AggregatesPlugin",
  version: "1.0.0",
  after: ["PgAggregatesSpecsPlugin"],
  schema: {
    behaviorRegistry: {
      add: {
        // Declared by a plugin that is left out, and asked for by another.
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
            const { computed, connection } = (resource.extensions?.tags ?? {}) as Tags;
            const joins = resource.parameters
              ? computed !== undefined && resource.parameters.length === 1
              : connection !== undefined;
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
          ? { ...config, description: "What rows can be grouped by; times in UTC." }
          : config;
      },

      GraphQLEnumType_values(values, build, { scope }) {
        const { isPgAggregateGroupEnum, pgTypeResource: resource } = scope;
        if (!isPgAggregateGroupEnum || !resource) return values;
        return build.extend(
          values,
          Object.fromEntries(groupsOf(build, resource as PgResource)),
          `AggregatesPlugin: what ${resource.name} can be grouped by`,
        );
      },

      GraphQLObjectType(config, _build, { scope }) {
        if (scope.isPgAggregateContainerType)
          return {
            ...config,
            description: "Figures about all rows that match, or about a group of them.",
          };
        if (scope.isPgAggregateType && scope.pgAggregateSpec)
          return {
            ...config,
            description: `${scope.pgAggregateSpec.HumanLabel}, column by column.`,
          };
        return config;
      },

      GraphQLObjectType_fields(fields, build, { scope, fieldWithHooks }) {
        if (!scope.isPgAggregateContainerType) return fields;
        const { GraphQLInt, GraphQLList, GraphQLNonNull, GraphQLString } = build.graphql;
        const { keys: _keys, ...rest } = fields;
        return {
          keys: fieldWithHooks({ fieldName: "keys" }, () => ({
            description:
              "What the rows of the group have in common, in the order of `groupBy`; null where they have no value. Empty without groups.",
            type: new GraphQLNonNull(new GraphQLList(GraphQLString)),
            plan: keysPlan,
          })),
          count: fieldWithHooks({ fieldName: "count" }, () => ({
            description: "How many rows there are.",
            type: new GraphQLNonNull(GraphQLInt),
            plan: ($row: ReturnType<PgSelectStep["singleAsRecord"]>) =>
              $row.select(sql`count(*)`, TYPES.bigint, false),
          })),
          ...rest,
        };
      },

      GraphQLObjectType_fields_field(field, build, { scope }) {
        if (scope.fieldName === "aggregates" && isAggregates(field.type))
          return { ...field, description: "Figures about all rows that match, whatever the page." };
        if (scope.fieldName !== "groupedAggregates" || !field.args?.groupBy) return field;
        const { GraphQLInt, GraphQLNonNull } = build.graphql;
        const { applyPlan: _applyPlan, ...groupBy } = field.args.groupBy;
        return {
          ...field,
          description:
            "Figures about groups of the rows that match, whatever the page, in the order of their keys.",
          type: new GraphQLNonNull(field.type as never),
          args: {
            groupBy: { ...groupBy, description: "By what; one key at least." },
            first: {
              type: GraphQLInt,
              defaultValue: LARGEST_GROUPS,
              description: `This many groups at most, 0 to ${LARGEST_GROUPS}.`,
            },
            offset: { type: GraphQLInt, description: "Pass over this many groups." },
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
  return $groups;
}

/** Checks by what and into how many groups rows are put. @throws OfficeError */
function checkGroups(keys: readonly unknown[], first: number | null | undefined): number {
  if (keys.length === 0)
    throw new OfficeError("BAD_USER_INPUT", "groupBy must name one key at least", {
      path: ["groupBy"],
    });
  const size = first ?? LARGEST_GROUPS;
  if (size < 0 || size > LARGEST_GROUPS)
    throw new OfficeError("BAD_USER_INPUT", `first must be from 0 to ${LARGEST_GROUPS}`, {
      path: ["first"],
    });
  return size;
}

function keysPlan($row: Step): Step {
  const $single = $row as ReturnType<PgSelectStep["singleAsRecord"]>;
  const $groups = $single.getClassStep().getGroupDetails();
  return lambda([$groups, $single], ([groups, row]) => {
    const { indicies } = groups as { indicies: readonly { index: number }[] };
    return row === null ? [] : indicies.map(({ index }) => (row as unknown as unknown[])[index]);
  });
}

function groupsOf(build: GraphileBuild.Build, resource: PgResource) {
  const attributes = (resource.codec.attributes ?? {}) as Record<
    string,
    { codec: PgCodec; extensions?: { tags?: Tags; canSelect?: boolean } }
  >;
  return Object.entries(attributes).flatMap(([attributeName, attribute]) => {
    const isUnique = resource.uniques.some(
      ({ attributes: [only, ...others] }) => only === attributeName && others.length === 0,
    );
    if (isHidden(attribute) || isUnique) return [];
    const name = build.inflection.aggregateGroupByAttributeEnum({
      resource,
      attributeName,
    });
    return keysOf(build, name, innerCodec(attribute.codec)).map((key) => {
      const apply = (builder: Pick<PgSelectQueryBuilder, "alias" | "groupBy" | "orderBy">) => {
        const fragment = key.text(sql`${builder.alias}.${sql.identifier(attributeName)}`);
        builder.groupBy({ fragment, codec: TYPES.text });
        builder.orderBy({ fragment, codec: TYPES.text, direction: "ASC", nulls: "LAST" });
      };
      return [key.name, { extensions: { grafast: { apply } } }] as const;
    });
  });
}

function keysOf(build: GraphileBuild.Build, name: string, codec: PgCodec): GroupKey[] {
  if (codec === TYPES.timestamptz)
    return spans.map((span) => ({
      name: `${name}_TRUNCATED_TO_${span.toUpperCase()}`,
      // The form in which the API writes times, whose order is that of the times.
      text: (column) =>
        sql`to_char(date_trunc(${sql.literal(span)}, ${column} at time zone 'UTC'), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    }));
  const isPlain =
    build.dataplanPg.isEnumCodec(codec) ||
    [
      TYPES.text,
      TYPES.int2,
      TYPES.int,
      TYPES.bigint,
      TYPES.boolean,
      TYPES.uuid,
      TYPES.date,
    ].includes(codec as never);
  return isPlain ? [{ name, text: (column) => sql`(${column})::text` }] : [];
}

function innerCodec(codec: PgCodec): PgCodec {
  return codec.domainOfCodec ? innerCodec(codec.domainOfCodec) : codec;
}

function isHidden(
  attribute: { extensions?: { tags?: Tags; canSelect?: boolean } } | undefined,
): boolean {
  const { tags, canSelect } = attribute?.extensions ?? {};
  return tags?.internal !== undefined || tags?.secret !== undefined || canSelect === false;
}
