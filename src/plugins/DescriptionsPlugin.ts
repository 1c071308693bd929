import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { lookUpKey } from "../schema/lookUpKey.ts";
import { titleOf } from "../schema/rowNames.ts";
import { insideSentence } from "../text/insideSentence.ts";
import { replaceLibraryDescription } from "../schema/libraryDescriptions.ts";

/** Common columns that need no comment. */
const commonColumns: Record<string, string> = {
  id: "The unique id.",
  created_at: "When the row was created.",
  updated_at: "When the row was last changed.",
};

/** Common arguments that need no comment. */
const commonArguments: Record<string, string> = {
  id: "The id of the row.",
  input: "The input values.",
};

/** The description of a reference such as `user_id` or `userId`. */
function describeReference(name: string): string | undefined {
  const referred = /^(\w+?)(?:_id|Id)$/.exec(name)?.[1];
  return referred && `The id of the ${insideSentence(titleOf(referred))}.`;
}

function firstSentence(text: string | null | undefined): string {
  return /^[\s\S]*?[.!?](?=\s|$)/.exec(text ?? "")?.[0] ?? text ?? "";
}

/**
 * Fills descriptions that database comments leave out: common columns and arguments, root fields from the comment of
 * their table, relations from that of their column.
 */
export const DescriptionsPlugin: GraphileConfig.Plugin = {
  name: "DescriptionsPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      GraphQLObjectType: replaceDescription,
      GraphQLEnumType: replaceDescription,
      GraphQLScalarType: replaceDescription,

      GraphQLObjectType_fields_field(field, build, { scope, Self }) {
        const own = describe(build, scope, Self.name);
        return own === undefined ? replaceDescription(field) : { ...field, description: own };
      },

      GraphQLObjectType_fields_field_args_arg(arg, _build, { scope }) {
        const description =
          arg.description ?? commonArguments[scope.argName] ?? describeReference(scope.argName);
        return description === undefined ? arg : { ...arg, description };
      },

      GraphQLInputObjectType_fields_field(field, _build, { scope }) {
        const description = field.description ?? describeReference(scope.fieldName);
        return description === undefined ? field : { ...field, description };
      },
    },
  },
};

function replaceDescription<T extends { description?: string | null | undefined }>(
  described: T,
): T {
  return described.description
    ? { ...described, description: replaceLibraryDescription(described.description) }
    : described;
}

function describe(
  build: GraphileBuild.Build,
  scope: GraphileBuild.ScopeObjectFieldsField,
  typeName: string,
): string | undefined {
  const resource = scope.pgFieldResource;
  const { pgFieldAttribute } = scope;
  if (pgFieldAttribute) {
    const name = Object.entries(
      (scope.pgCodec as PgCodecWithAttributes | undefined)?.attributes ?? {},
    ).find(([, attribute]) => attribute === pgFieldAttribute)?.[0];
    const { description } = pgFieldAttribute as { description?: string };
    if (description) return description;
    if (name && commonColumns[name]) return commonColumns[name];
    return name === undefined ? undefined : describeReference(name);
  }
  if (scope.isPgSingleRelationField) {
    const { codec, relationName, registry } = (scope.pgRelationDetails ?? {}) as {
      codec?: PgCodecWithAttributes;
      relationName?: string;
      registry?: {
        pgRelations: Record<string, Record<string, { localAttributes?: readonly string[] }>>;
      };
    };
    const relation =
      codec && relationName ? registry?.pgRelations[codec.name]?.[relationName] : undefined;
    const column = relation?.localAttributes?.[0];
    return column ? codec?.attributes[column]?.description : undefined;
  }
  if (!resource || resource.parameters) return undefined;
  if (scope.isPgManyRelationListField || scope.isPgManyRelationConnectionField)
    return `The related rows of \`${build.inflection.tableType(resource.codec)}\` that the caller may read.`;
  // Fields with their own guard belong to plugins, which describe them.
  if (typeName !== "Query" || scope.guard !== undefined) return undefined;
  const what = firstSentence(resource.codec.description ?? resource.description);
  const type = build.inflection.tableType(resource.codec);
  if (scope.isPgRowByUniqueConstraintField)
    return `The \`${type}\` with this ${lookUpKey(resource as PgResource)?.attributes.join() === "id" ? "id" : "key"}; null if there is none. ${what}`.trim();
  if (scope.isPgFieldConnection) return `A page of the rows of \`${type}\`. ${what}`.trim();
  if (scope.isPgFieldSimpleCollection) return `All rows of \`${type}\`. ${what}`.trim();
  return undefined;
}
