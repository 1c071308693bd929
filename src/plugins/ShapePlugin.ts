import { type PgCodec, type PgResource, isEnumCodec } from "postgraphile/@dataplan/pg";
import { checkEnumValues } from "../schema/checkEnumValues.ts";
import { innerCodec } from "../schema/columns.ts";
import { lookUpKey } from "../schema/lookUpKey.ts";
import { hasPages, isConnection } from "../schema/listedTables.ts";
import { literal, otherScalars, parseId, parseInstant, specifications } from "../schema/scalars.ts";

/** Where the library keeps the GraphQL type of each codec; its types omit this. */
interface HasCodecMeta {
  pgCodecMetaLookup: Map<PgCodec, { typeNameBySituation: Record<string, string> }>;
}

function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

/** Whether a field shows a column outside the table's `@summary`, which is null for some callers. */
function isBeyondSummary({
  pgCodec,
  pgFieldAttribute,
}: GraphileBuild.ScopeObjectFieldsField): boolean {
  const summary = pgCodec?.extensions?.tags?.summary;
  if (!pgFieldAttribute || typeof summary !== "string") return false;
  const shown = ["id", ...summary.trim().split(/\s+/)];
  return shown.every((name) => pgCodec?.attributes?.[name] !== pgFieldAttribute);
}

/**
 * Adapts PostGraphile's schema to the published one: `ID` for uuid, `DateTime` ending in `Z`, plain field names,
 * non-null lists, one accessor by key per table. It derives everything from the catalogue and names no table.
 */
export const ShapePlugin: GraphileConfig.Plugin = {
  name: "ShapePlugin",
  version: "1.0.0",

  inflection: {
    replace: {
      builtin(previous, _options, text) {
        return text === "Datetime" ? "DateTime" : (previous?.(text) ?? text);
      },
      _attributeName(previous, _options, details) {
        return previous?.({ ...details, skipRowId: true }) ?? details.attributeName;
      },
      allRowsList(_previous, _options, resource) {
        return this.camelCase(this.pluralize(this._singularizedResourceName(resource)));
      },
      allRowsConnection(_previous, _options, resource) {
        const name = this._singularizedResourceName(resource);
        // The plural is the name of the plain list.
        return this.camelCase(isConnection(resource) ? this.pluralize(name) : `${name}-pages`);
      },
      rowByUnique(_previous, _options, { resource }) {
        return lowerFirst(this.tableType(resource.codec));
      },
      computedAttributeField(_previous, _options, { resource }) {
        const codec = resource.parameters[0]?.codec;
        const first = codec?.extensions?.pg?.name ?? codec?.name ?? "";
        const plain = resource.name.replace(
          new RegExp(`^${this.pluralize(first)}_|^${first}_`),
          "",
        );
        return this.camelCase(plain);
      },
    },
  },

  schema: {
    entityBehavior: {
      pgResource: {
        override: {
          after: ["override"],
          provides: ["shape"],
          callback(behavior, resource) {
            const tags = resource.extensions?.tags ?? {};
            if (resource.parameters)
              return tags.computed === undefined
                ? behavior
                : [
                    behavior,
                    "typeField",
                    "typeField:resource:list",
                    "-typeField:resource:connection",
                  ];
            const hidden =
              tags.internal !== undefined || tags.read === undefined || tags.root === "off";
            if (hidden)
              return [
                behavior,
                "-query:resource:list",
                "-query:resource:connection",
                "-query:resource:single",
              ];
            return [
              behavior,
              isConnection(resource) ? "-query:resource:list" : "query:resource:list",
              hasPages(resource) ? "query:resource:connection" : "-query:resource:connection",
              "query:resource:single",
            ];
          },
        },
      },
      pgResourceUnique: {
        override: {
          after: ["override"],
          provides: ["shape"],
          callback(behavior, [resource, unique]) {
            const tags = resource.extensions?.tags ?? {};
            const open =
              lookUpKey(resource as PgResource) === unique &&
              tags.read !== undefined &&
              tags.internal === undefined &&
              tags.root !== "off";
            return open ? [behavior, "single"] : [behavior, "-single", "-query:resource:single"];
          },
        },
      },
      pgCodecAttribute: {
        // The library gives enumerations no order. In lists, their values have a sensible one, such as that of a status.
        inferred: {
          after: ["default"],
          before: ["postInferred"],
          provides: ["shapeOrders"],
          callback(behavior, [codec, name]) {
            const attribute = codec.attributes[name];
            const isOrdered =
              attribute !== undefined &&
              isEnumCodec(innerCodec(attribute.codec)) &&
              attribute.extensions?.isIndexed !== false;
            return isOrdered ? [behavior, "attribute:orderBy"] : behavior;
          },
        },
        override: {
          after: ["override"],
          provides: ["shape"],
          callback(behavior, [codec, name]) {
            const tags = codec.attributes[name]?.extensions?.tags ?? {};
            const hidden = tags.internal !== undefined || tags.secret !== undefined;
            return hidden
              ? [behavior, "-select", "-attribute:select", "-attribute:orderBy"]
              : behavior;
          },
        },
      },
    },

    hooks: {
      init: [
        {
          before: ["PgCodecs"],
          callback(state, build) {
            const { TYPES } = build.dataplanPg;
            build.setGraphQLTypeForPgCodec(TYPES.uuid, ["input", "output"], "ID");
            return state;
          },
        },
        {
          before: ["PgCodecs"],
          // @dataplan/pg reads null in a column such as `daterange` as a range without ends.
          callback(state, build) {
            for (const codec of Object.values(build.input.pgRegistry.pgCodecs) as PgCodec[]) {
              const cast = codec.castFromPg;
              if (codec.rangeOfCodec && cast)
                codec.castFromPg = (value, isNotNull) =>
                  build.sql`case when ${value} is not null then ${cast(value, isNotNull)} end`;
            }
            return state;
          },
        },
        {
          after: ["PgCodecs"],
          // A value of a domain has the GraphQL type of its base type, and so its parser, its comparisons and its editor.
          callback(state, build) {
            const { pgCodecMetaLookup: metaOf } = build as typeof build & HasCodecMeta;
            for (const [codec, meta] of metaOf)
              if (codec.domainOfCodec) {
                const base = metaOf.get(innerCodec(codec));
                if (base) meta.typeNameBySituation = { ...base.typeNameBySituation };
              }
            return state;
          },
        },
      ],

      GraphQLScalarType(given, build) {
        const config = { ...given, specifiedByURL: specifications[given.name] };
        if (config.name === build.inflection.builtin("Datetime")) {
          return {
            ...config,
            description: "A point in time in ISO 8601, always in UTC: `2026-01-31T12:34:56.789Z`.",
            // PostgreSQL's text of a timestamptz has its zone, which Date parses.
            serialize: (value: unknown) => new Date(value as string).toISOString(),
            parseValue: parseInstant,
            parseLiteral: literal(parseInstant, "A DateTime"),
          };
        }
        return { ...config, ...otherScalars[config.name] };
      },

      finalize(schema) {
        // graphql-js has one `ID` scalar per process, which serves this one schema: its parser is replaced, so that an
        // id that is not a UUID is rejected before execution.
        const id = schema.getType("ID");
        if (id && "parseValue" in id) {
          id.parseValue = parseId;
          id.parseLiteral = literal(parseId, "An ID") as typeof id.parseLiteral;
        }
        return schema;
      },

      GraphQLEnumType_values(values, build, { Self }) {
        checkEnumValues(build, Self.name, values);
        return values;
      },

      GraphQLObjectType_fields_field(field, build, context) {
        const { GraphQLList, GraphQLNonNull, isListType, isNonNullType } = build.graphql;
        const { scope } = context;
        let type = field.type;
        const list = isNonNullType(type) ? type.ofType : type;
        if (isListType(list)) {
          // Lists have no null items; a list of rows is never null, a list of a column only where the column is.
          const item = isNonNullType(list.ofType) ? list.ofType : new GraphQLNonNull(list.ofType);
          const whole = new GraphQLList(item);
          const required = isNonNullType(type) || scope.isPgFieldSimpleCollection;
          type = required ? new GraphQLNonNull(whole) : whole;
        } else if (scope.isPgFieldConnection && !isNonNullType(type)) {
          type = new GraphQLNonNull(type);
        } else if (scope.isPgSingleRelationField && !isNonNullType(type)) {
          const { registry, codec, relationName } = scope.pgRelationDetails ?? {};
          const relation =
            codec && relationName ? registry?.pgRelations[codec.name]?.[relationName] : undefined;
          if (relation?.extensions?.tags?.notNull !== undefined) type = new GraphQLNonNull(type);
        }
        if (isNonNullType(type) && isBeyondSummary(scope)) type = type.ofType;
        return type === field.type ? field : { ...field, type };
      },
    },
  },
};
