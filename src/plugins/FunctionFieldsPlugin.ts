import type { GraphQLInputType, GraphQLOutputType } from "graphql";
import type {
  PgCodec,
  PgCodecWithAttributes,
  PgResource,
  PgResourceParameter,
} from "postgraphile/@dataplan/pg";
import { type FieldArgs, lambda } from "postgraphile/grafast";
import type { DirectField } from "../reads/directField.ts";
import {
  columnNames,
  deprecation,
  graphqlType,
  inputField,
  isWritable,
  toColumns,
} from "./inputColumns.ts";

type FunctionResource = PgResource<string, PgCodec, never, readonly PgResourceParameter[]>;

/** What a call of a function passes for one parameter. */
interface Passed {
  placeholder: unknown;
  name?: string;
  position?: number;
}

function functionsOf(build: GraphileBuild.Build): FunctionResource[] {
  return Object.values(build.pgResources as Record<string, PgResource>).filter(
    (resource): resource is FunctionResource =>
      resource.parameters !== undefined &&
      resource.extensions?.tags?.guard !== undefined &&
      resource.extensions.canExecute !== false,
  );
}

function inputParameter(resource: FunctionResource) {
  const parameter = resource.parameters.find((p) => p.name === "input" && p.codec.attributes);
  return parameter as (PgResourceParameter & { codec: PgCodecWithAttributes }) | undefined;
}

function inputTypeName(build: GraphileBuild.Build, resource: FunctionResource): string {
  const { inputType } = resource.extensions?.tags ?? {};
  return typeof inputType === "string"
    ? inputType
    : build.inflection.upperCamelCase(`${resource.name}_input`);
}

/**
 * Offers SQL functions as root fields: a function with `@guard` in its comment becomes a mutation when it is volatile and a
 * query otherwise, under its own name and with its parameters as arguments. A parameter `input` of a composite type (or of a
 * table's row type) becomes an input object; the function learns which of its fields were given at all from a further
 * parameter `given text[]`, which holds their column names and is not part of the API.
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
                description: `What \`${build.inflection.camelCase(resource.name)}\` takes.`,
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
              guard: String(guard),
              ...(typeof auditReads === "string" ? { auditReads } : {}),
            },
            () => ({
              description: resource.description,
              ...deprecation(resource.extensions?.tags),
              type: outputType(build, resource),
              args: argumentsOf(build, resource),
              plan: (_$root: unknown, args: FieldArgs) => call(build, resource, args),
              ...directCall(build, resource),
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
          inputField(build, attribute, required),
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

/** What the tags `@argument name words` say of parameters. */
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
  const { GraphQLNonNull } = build.graphql;
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
            type: parameter.optional ? type : new GraphQLNonNull(type as never),
            ...(described.has(parameter.name ?? "") && {
              description: described.get(parameter.name ?? ""),
            }),
          },
        ];
      }),
  );
}

/** How SQL alone calls a mutation's function that gives one row of a table. */
function directCall(
  build: GraphileBuild.Build,
  resource: FunctionResource,
): { extensions?: { direct: DirectField } } {
  const { sql } = build;
  const { codec, parameters } = resource;
  if (!resource.isMutation || !resource.isUnique || !codec.attributes || codec.isAnonymous)
    return {};
  const input = inputParameter(resource);
  const columns = input ? columnNames(build, input.codec) : new Map<string, string>();
  const valueOf = (parameter: PgResourceParameter, args: Record<string, unknown>) => {
    const { name, codec: of } = parameter;
    if (parameter === input) {
      const given = sql.value(JSON.stringify(toColumns(args.input, columns)));
      return sql`jsonb_populate_record(null::${of.sqlType}, ${given}::jsonb)`;
    }
    const value =
      name === "given"
        ? Object.keys(toColumns(args.input, columns))
        : args[build.inflection.camelCase(name ?? "")];
    return sql`${sql.value(value == null ? null : of.toPg(value))}::${of.sqlType}`;
  };
  const callee = sql.identifier(resource.extensions?.pg?.name ?? resource.name);
  const direct: DirectField = {
    kind: "call",
    type: codec.sqlType,
    call(args) {
      const passed = parameters.map(
        (parameter) => sql`${sql.identifier(parameter.name ?? "")} => ${valueOf(parameter, args)}`,
      );
      return sql`${callee}(${sql.join(passed, ", ")})`;
    },
  };
  return { extensions: { direct } };
}

/** The step that calls the function; a mutation runs in a transaction of its own. */
function call(build: GraphileBuild.Build, resource: FunctionResource, args: FieldArgs) {
  const { sql, dataplanPg } = build;
  const { TYPES, listOfCodec, pgSelect } = dataplanPg;
  const input = inputParameter(resource);
  const columns = input ? columnNames(build, input.codec) : new Map<string, string>();
  const passed = resource.parameters.map((parameter) => {
    const { name } = parameter;
    if (parameter === input)
      return {
        name,
        pgCodec: TYPES.jsonb,
        step: lambda(args.getRaw("input"), (given) => toColumns(given, columns)),
      };
    if (name === "given")
      return {
        name,
        pgCodec: listOfCodec(TYPES.text),
        step: lambda(args.getRaw("input"), (given) => Object.keys(toColumns(given, columns))),
      };
    return {
      name,
      pgCodec: parameter.codec,
      step: args.getRaw(build.inflection.camelCase(name ?? "")),
    };
  });
  const parameters = resource.parameters.map((parameter, index) => ({
    ...parameter,
    codec: passed[index]?.pgCodec ?? parameter.codec,
  }));
  const callee = sql.identifier(resource.extensions?.pg?.name ?? resource.name);
  const from = (...values: readonly Passed[]) => {
    const list = values.map((value) => {
      const parameter = value.name
        ? parameters.find((p) => p.name === value.name)
        : parameters[value.position ?? 0];
      const shown =
        parameter?.name === "input" && input
          ? sql`jsonb_populate_record(null::${input.codec.sqlType}, ${value.placeholder as never})`
          : (value.placeholder as never);
      return sql`${sql.identifier(parameter?.name ?? "")} => ${shown}`;
    });
    return sql`${callee}(${sql.join(list, ", ")})`;
  };
  const $select = pgSelect({
    resource,
    identifiers: [],
    mode: resource.isMutation ? "mutation" : "normal",
    parameters,
    args: passed as never,
    from: from,
  });
  return resource.isUnique ? $select.single() : $select;
}
