import pg from "pg";
import type { GraphQLInputObjectType, GraphQLObjectType } from "graphql";
import { type PgClient, TYPES } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, object } from "postgraphile/grafast";
import { verbGuard } from "../auth/guards.ts";
import { columnValues, deprecation, inputField, isWritable } from "../schema/inputColumns.ts";
import { conflict } from "../errors/PublicError.ts";
import { ownerColumns } from "../schema/ownerTags.ts";
import {
  type TableResource,
  type Verb,
  inputTypeName,
  missingRow,
  mutationName,
  tablesOffering,
  valuesSource,
} from "../schema/tableMutations.ts";

/** Rows are found by the column `id uuid`: these mutations need it. Names every table without it. */
function checkKeys(build: GraphileBuild.Build): void {
  const tables = new Set(
    (["create", "update", "delete"] as const).flatMap((verb) => tablesOffering(build, verb)),
  );
  const wrong = [...tables].filter(({ uniques, codec }) => {
    const key = uniques.find(({ isPrimary }) => isPrimary)?.attributes ?? [];
    return key.length !== 1 || key[0] !== "id" || codec.attributes["id"]?.codec !== TYPES.uuid;
  });
  if (wrong.length === 0) return;
  const named = wrong.map(({ name }) => `the table ${name}`).join(" and of ");
  throw new Error(
    `The tag @mutations of ${named} needs the primary key \`id uuid\`. Write a unique constraint for what identifies a row beside it.`,
  );
}

/**
 * Adds create, update and delete mutations to tagged tables, guarded by the permissions of their tags. They write as
 * the request role under its grants and policies, so that plain master data needs no function.
 */
export const TableMutationsPlugin: GraphileConfig.Plugin = {
  name: "TableMutationsPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      init: {
        after: ["PgCodecs"],
        callback(state, build) {
          checkKeys(build);
          for (const verb of ["create", "update"] as const)
            for (const resource of tablesOffering(build, verb)) {
              const typeName = build.inflection.tableType(resource.codec);
              const name = mutationName(build, typeName, verb);
              build.registerInputObjectType(
                inputTypeName(build, typeName, verb),
                {},
                () => ({
                  description:
                    verb === "create"
                      ? `The input of \`${name}\`.`
                      : `The new values of \`${name}\`; omitted fields stay unchanged.`,
                  fields: () => inputFields(build, resource, verb),
                }),
                `TableMutationsPlugin: ${verb} ${resource.name}`,
              );
            }
          return state;
        },
      },

      GraphQLObjectType_fields(fields, build, context) {
        if (!context.scope.isRootMutation) return fields;
        const { GraphQLBoolean, GraphQLID, GraphQLNonNull } = build.graphql;
        const id = { type: new GraphQLNonNull(GraphQLID), description: "The id of the row." };
        const added: Record<string, ReturnType<typeof context.fieldWithHooks>> = {};
        for (const verb of ["create", "update", "delete"] as const)
          for (const resource of tablesOffering(build, verb)) {
            const typeName = build.inflection.tableType(resource.codec);
            const name = mutationName(build, typeName, verb);
            const guard = verbGuard(resource.extensions?.tags, verb) ?? "";
            const input =
              verb === "delete"
                ? null
                : (build.getInputTypeByName(
                    inputTypeName(build, typeName, verb),
                  ) as GraphQLInputObjectType);
            added[name] = context.fieldWithHooks({ fieldName: name, guard }, () => ({
              description: `${{ create: "Creates", update: "Changes", delete: "Deletes" }[verb]} ${/^[AEIOU]/.test(typeName) ? "an" : "a"} \`${typeName}\`.`,
              ...deprecation(resource.extensions?.tags),
              type: new GraphQLNonNull(
                verb === "delete"
                  ? GraphQLBoolean
                  : (build.getOutputTypeByName(typeName) as GraphQLObjectType),
              ),
              args: {
                ...(verb === "create" ? {} : { id }),
                ...(input
                  ? {
                      input: {
                        type: new GraphQLNonNull(input),
                        description: "The values of the row.",
                      },
                    }
                  : {}),
              },
              plan: (_$root: Step, args: FieldArgs) => write(build, resource, verb, args),
            }));
          }
        return build.extend(fields, added, "TableMutationsPlugin: verbs offered by tags");
      },
    },
  },
};

function inputFields(
  build: GraphileBuild.Build,
  resource: TableResource,
  verb: Exclude<Verb, "delete">,
) {
  const { codec } = resource;
  // The trigger of `@owner` fills them.
  const owners = ownerColumns(resource.extensions?.tags);
  return Object.fromEntries(
    Object.entries(codec.attributes)
      .filter(([name, attribute]) => isWritable(name, attribute, verb) && !owners.includes(name))
      .map(([name, attribute]) => {
        const required =
          verb === "create" && attribute.notNull === true && attribute.hasDefault !== true;
        return [
          build.inflection.attribute({ attributeName: name, codec }),
          inputField(build, codec, [name, attribute], required),
        ];
      }),
  );
}

interface MutationRequest {
  id?: string;
  input?: Record<string, unknown>;
}

function write(build: GraphileBuild.Build, resource: TableResource, verb: Verb, args: FieldArgs) {
  const valuesOf = columnValues(build, resource.codec);
  const table = build.sql.compile(resource.codec.sqlType).text;
  const $wanted = object({
    ...(verb === "create" ? {} : { id: args.getRaw("id") }),
    ...(verb === "delete" ? {} : { input: args.getRaw("input") }),
  }) as Step<MutationRequest>;
  const $id = build.dataplanPg.sideEffectWithPgClientTransaction(
    resource.executor,
    $wanted,
    async (client: PgClient, wanted: MutationRequest) => {
      const row = valuesOf(wanted.input);
      const { rows } = await client.query<{ id: string }>(
        statementFor(verb, table, row, wanted.id),
      );
      if (!rows[0]) {
        if (verb === "create")
          throw conflict("A trigger of the table did not let the row be stored");
        const { id = "" } = wanted;
        throw await missingRow(build, resource, { client, verb, id, path: ["id"] });
      }
      return verb === "delete" ? true : rows[0].id;
    },
  );
  return verb === "delete" ? $id : resource.get({ id: $id });
}

/** Columns are names from the catalogue; values are one JSON parameter, converted by the table's row type. */
function statementFor(
  verb: Verb,
  table: string,
  row: Record<string, unknown>,
  id = "",
): { text: string; values?: string[] } {
  if (verb === "delete")
    return { text: `delete from ${table} where id = $1 returning id`, values: [id] };
  const names = Object.keys(row);
  if (names.length === 0)
    return verb === "create"
      ? { text: `insert into ${table} default values returning id` }
      : // Locked, so that the policies of updates hold.
        { text: `select id from ${table} where id = $1 for no key update`, values: [id] };
  const list = names.map((name) => pg.escapeIdentifier(name)).join(", ");
  const source = valuesSource(table, list);
  if (verb === "create")
    return {
      text: `insert into ${table} (${list}) ${source} returning id`,
      values: [JSON.stringify(row)],
    };
  const target = names.length === 1 ? list : `(${list})`;
  return {
    text: `update ${table} set ${target} = ${source} where id = $2 returning id`,
    values: [JSON.stringify(row), id],
  };
}
