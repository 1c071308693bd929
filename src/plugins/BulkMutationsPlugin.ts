import type { GraphQLInputObjectType, GraphQLObjectType } from "graphql";
import type { PgClient } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, context, object } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import { verbGuard } from "../auth/guards.ts";
import { type Wanted, chooseRows } from "../bulk/chooseRows.ts";
import {
  type BulkResult,
  type Verb,
  makeDelete,
  makeUpdate,
  takenBack,
  writeOrNameRow,
} from "../bulk/writeRows.ts";
import { badUserInput } from "../errors/PublicError.ts";
import { deprecation } from "../schema/inputColumns.ts";
import { hasPages } from "../schema/listedTables.ts";
import {
  type TableResource,
  bulkResultType,
  inputTypeName,
  manyMutationName,
  mostBulkRows,
  mutationName,
  tablesOffering,
} from "../schema/tableMutations.ts";

const descriptions: Record<Verb, (one: string) => string> = {
  update: (one) => `Gives many rows the same values, as \`${one}\` does one row`,
  delete: (one) => `Deletes many rows, as \`${one}\` does one row`,
};

/** An operation has three such fields at most: its locks are held until the last of them ends. In objects read. */
const cost = 10 * mostBulkRows;

/**
 * Adds `updateProducts` and `deleteProducts` to tables with a list and `@mutations update` or `delete`: the same change
 * of many rows, by their ids or by a query of the list, in one transaction and with the same rules as that of one row.
 */
export const BulkMutationsPlugin: GraphileConfig.Plugin = {
  name: "BulkMutationsPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      GraphQLObjectType_fields(fields, build, context) {
        if (!context.scope.isRootMutation) return fields;
        const { GraphQLBoolean, GraphQLID, GraphQLList, GraphQLNonNull, GraphQLString } =
          build.graphql;
        const added: Record<string, ReturnType<typeof context.fieldWithHooks>> = {};
        for (const verb of ["update", "delete"] as const)
          for (const table of tablesOffering(build, verb).filter(hasPages)) {
            const { tags } = table.extensions ?? {};
            const typeName = build.inflection.tableType(table.codec);
            const list = build.inflection.allRowsList(table as never);
            const one = mutationName(build, typeName, verb);
            const name = manyMutationName(build, typeName, verb);
            const guard = verbGuard(tags, verb) ?? "";
            const input =
              verb === "update"
                ? (build.getInputTypeByName(
                    inputTypeName(build, typeName, verb),
                  ) as GraphQLInputObjectType)
                : null;
            added[name] = context.fieldWithHooks({ fieldName: name, guard }, () => ({
              description: `${descriptions[verb](one)}, all or none of them, at most ${mostBulkRows}. If a row is rejected, \`extensions.row\` of the error has its id and name.`,
              ...deprecation(tags),
              extensions: { cost },
              type: new GraphQLNonNull(
                build.getOutputTypeByName(bulkResultType) as GraphQLObjectType,
              ),
              args: {
                ids: {
                  type: new GraphQLList(new GraphQLNonNull(GraphQLID)),
                  description: "The ids of the rows, instead of `query`.",
                },
                query: {
                  type: GraphQLString,
                  description: `The rows that match, as in the argument \`query\` of \`${list}\`. \`id:*\` matches every row.`,
                },
                queryValues: {
                  type: build.getTypeByName("JSON") as never,
                  description: "Values for `query`.",
                },
                ...(input && {
                  input: {
                    type: new GraphQLNonNull(input),
                    description: "The values of all the rows.",
                  },
                }),
                dryRun: {
                  type: new GraphQLNonNull(GraphQLBoolean),
                  defaultValue: false,
                  description: "Checks and counts, and takes everything back.",
                },
              },
              plan: (_$root: Step, args: FieldArgs) => planOf(build, table, verb, args),
            }));
          }
        return build.extend(fields, added, "BulkMutationsPlugin: verbs offered by tags");
      },
    },
  },
};

/** The answer of the mutations of many rows. */
export const BulkResultPlugin: GraphileConfig.Plugin = extendSchema(
  () => ({
    typeDefs: gql`
      """
      How many rows a mutation of many rows changed or deleted, or would have with \`dryRun\`.
      """
      type BulkResult {
        """
        The rows that were named or that matched.
        """
        matched: Int!
        """
        The rows that were changed or deleted.
        """
        changed: Int!
        """
        The rows that had the values already.
        """
        unchanged: Int!
      }
    `,
  }),
  "BulkResultPlugin",
);

function planOf(build: GraphileBuild.Build, table: TableResource, verb: Verb, args: FieldArgs) {
  const write = verb === "update" ? makeUpdate(build, table) : makeDelete(build, table);
  const $wanted = object({
    ids: args.getRaw("ids"),
    query: args.getRaw("query"),
    queryValues: args.getRaw("queryValues"),
    ...(verb === "update" ? { input: args.getRaw("input") } : {}),
    dryRun: args.getRaw("dryRun"),
    requestContext: context().get("requestContext"),
  }) as Step<Wanted>;
  return build.dataplanPg.sideEffectWithPgClientTransaction(
    table.executor,
    $wanted,
    async (client: PgClient, wanted: Wanted): Promise<BulkResult> => {
      if (wanted.input && Object.keys(wanted.input).length === 0)
        throw badUserInput("input: name at least one field", { path: ["input"] });
      const chosen = await chooseRows(build, table, client, wanted);
      const result = { matched: 0, changed: 0, unchanged: 0 };
      const work = async (inner: PgClient) => {
        const done = await writeOrNameRow(build, table, inner, {
          ids: chosen.ids,
          write: (writer, ids) => write(writer, { ...chosen, ids }, wanted),
        });
        Object.assign(result, done);
        if (wanted.dryRun) throw takenBack;
      };
      try {
        await client.withTransaction(work);
      } catch (error) {
        if (error !== takenBack) throw error;
      }
      return result;
    },
  );
}
