import type { GraphQLInputType, GraphQLOutputType } from "graphql";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import type { FieldArgs } from "postgraphile/grafast";
import { sqlJsonCall } from "../sqlJson/compileCall.ts";
import { type FunctionResource, callFunction, inputParameter } from "../schema/functionCall.ts";
import { deprecation, graphqlType, inputField, isWritable } from "../schema/inputColumns.ts";

declare global {
  namespace GraphileBuild {
    interface ScopeObjectFieldsField {
      /** The SQL function that a root field calls. */
      calledFunction?: FunctionResource;
    }
  }
}

function functionsOf(build: GraphileBuild.Build): FunctionResource[] {
  return Object.values(build.pgResources as Record<string, PgResource>).filter(
    (resource): resource is FunctionResource =>
      resource.parameters !== undefined &&
      resource.extensions?.tags?.guard !== undefined &&
      resource.extensions.canExecute !== false,
  );
}

function inputTypeName(build: GraphileBuild.Build, resource: FunctionResource): string {
  const { inputType } = resource.extensions?.tags ?? {};
  return typeof inputType === "string"
    ? inputType
    : build.inflection.upperCamelCase(`${resource.name}_input`);
}

/**
 * Exposes SQL functions tagged `@guard` as root fields: volatile ones as mutations, others as queries, with their
 * parameters as arguments. A parameter `input` of a composite or row type becomes an input object; a further parameter
 * `given text[]` receives the names of the columns that were sent and is not part of the API.
 */
export const FunctionFieldsPlugin: GraphileConfig.Plugin = {
  name: "FunctionFieldsPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      init: {
        after: ["PgCodecs"],
        callback(state, build) {
          const registered = new Set<string>();
          for (const resource of functionsOf(build)) {
            const parameter = inputParameter(resource);
            const typeName = inputTypeName(build, resource);
            if (!parameter || registered.has(typeName)) continue;
            registered.add(typeName);
            build.registerInputObjectType(
              typeName,
              {},
              () => ({
                description: `The input of \`${build.inflection.camelCase(resource.name)}\`.`,
                fields: () => inputFields(build, resource, parameter.codec),
              }),
              `FunctionFieldsPlugin: input of ${resource.name}`,
            );
          }
          return state;
        },
      },

      GraphQLObjectType_fields(fields, build, context) {
        const { isRootQuery, isRootMutation } = context.scope;
        if (!isRootQuery && !isRootMutation) return fields;
        const added: Record<string, ReturnType<typeof context.fieldWithHooks>> = {};
        for (const resource of functionsOf(build)) {
          if (resource.isMutation !== Boolean(isRootMutation)) continue;
          const fieldName = build.inflection.camelCase(resource.name);
          const { guard, auditReads } = resource.extensions?.tags ?? {};
          added[fieldName] = context.fieldWithHooks(
            {
              fieldName,
              calledFunction: resource,
              guard: String(guard),
              ...(typeof auditReads === "string" ? { auditReads } : {}),
            },
            () => ({
              description: resource.description,
              ...deprecation(resource.extensions?.tags),
              type: outputType(build, resource),
              args: argumentsOf(build, resource),
              plan: (_$root: unknown, args: FieldArgs) => callFunction(build, resource, args),
              ...sqlJsonCall(build, resource),
            }),
          );
        }
        return build.extend(fields, added, "FunctionFieldsPlugin: functions with a guard");
      },
    },
  },
};

function inputFields(
  build: GraphileBuild.Build,
  resource: FunctionResource,
  codec: PgCodecWithAttributes,
) {
  const changes = resource.parameters.some((parameter) => parameter.name === "id");
  const ofTable = !codec.isAnonymous && Object.values(codec.attributes).some((a) => a.notNull);
  return Object.fromEntries(
    Object.entries(codec.attributes)
      .filter(([name, attribute]) => isWritable(name, attribute, changes ? "update" : "create"))
      .map(([name, attribute]) => {
        const required = ofTable
          ? !changes && attribute.notNull === true && attribute.hasDefault !== true
          : attribute.extensions?.tags?.notNull !== undefined;
        return [
          build.inflection.attribute({ attributeName: name, codec }),
          inputField(build, codec, [name, attribute], required),
        ];
      }),
  );
}

function outputType(build: GraphileBuild.Build, resource: FunctionResource): GraphQLOutputType {
  const { GraphQLList, GraphQLNonNull } = build.graphql;
  const named = (
    resource.codec.attributes
      ? build.getTypeByName(build.inflection.tableType(resource.codec as PgCodecWithAttributes))
      : graphqlType(build, resource.codec, "output")
  ) as GraphQLOutputType & { ofType?: never };
  const type = resource.isUnique ? named : new GraphQLList(new GraphQLNonNull(named));
  return resource.extensions?.tags?.nullable === undefined
    ? new GraphQLNonNull(type as never)
    : type;
}

/** The descriptions of parameters from the tag `@argument name words`. */
function argumentWords(resource: FunctionResource): ReadonlyMap<string, string> {
  const { argument } = resource.extensions?.tags ?? {};
  const lines = argument === undefined ? [] : [argument].flat().map(String);
  return new Map(
    lines.map((line) => {
      const [name = "", ...words] = line.split(" ");
      return [name, words.join(" ")];
    }),
  );
}

function argumentsOf(build: GraphileBuild.Build, resource: FunctionResource) {
  const { GraphQLNonNull, getNullableType } = build.graphql;
  const input = inputParameter(resource);
  const described = argumentWords(resource);
  return Object.fromEntries(
    resource.parameters
      .filter((parameter) => parameter.name !== "given")
      .map((parameter) => {
        const type =
          parameter === input
            ? build.getInputTypeByName(inputTypeName(build, resource))
            : (graphqlType(build, parameter.codec, "input") as GraphQLInputType);
        return [
          build.inflection.camelCase(parameter.name ?? ""),
          {
            type: parameter.optional ? type : new GraphQLNonNull(getNullableType(type)),
            ...(described.has(parameter.name ?? "") && {
              description: described.get(parameter.name ?? ""),
            }),
          },
        ];
      }),
  );
}
