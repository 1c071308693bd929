import pg from "pg";
import type { GraphQLInputObjectType, GraphQLObjectType } from "graphql";
import type { PgClient, PgResource } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, context, object } from "postgraphile/grafast";
import { type SQL, sql } from "postgraphile/pg-sql2";
import { extendSchema, gql } from "postgraphile/utils";
import { checkGuard, verbGuard } from "../auth/guards.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { PublicError, badUserInput } from "../errors/PublicError.ts";
import { RowError } from "../errors/RowError.ts";
import { isRejectedRow } from "../errors/databaseErrors.ts";
import { searchOf } from "../paging/connectionSearch.ts";
import type { Condition } from "../query/compile.ts";
import { columnValues, deprecation } from "../schema/inputColumns.ts";
import { labelColumns } from "../schema/labels.ts";
import { hasPages, tableGuard } from "../schema/listedTables.ts";
import {
  type TableResource,
  bulkResultType,
  inputTypeName,
  manyMutationName,
  missingRow,
  mostBulkRows,
  mutationName,
  tablesOffering,
  valuesSource,
} from "../schema/tableMutations.ts";

type Verb = "update" | "delete";

const descriptions: Record<Verb, (one: string) => string> = {
  update: (one) => `Gives many rows the same values, as \`${one}\` does one row`,
  delete: (one) => `Deletes many rows, as \`${one}\` does one row`,
};

/** An operation has three such fields at most: its locks are held until the last of them ends. In objects read. */
const cost = 10 * mostBulkRows;

interface Wanted {
  ids: string[] | null | undefined;
  query: string | null | undefined;
  queryValues: unknown;
  input?: Record<string, unknown>;
  dryRun: boolean;
  requestContext: RequestInfo;
}

interface BulkResult {
  matched: number;
  changed: number;
  unchanged: number;
}

/** The rows that a mutation is about. A query's condition is checked again under the locks. */
interface Chosen {
  ids: string[];
  matches: Condition | null;
}

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
      const chosen = await choose(build, table, client, wanted);
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

/** Ends the savepoint of a dry run. */
const takenBack = new Error("A dry run is taken back");

/** @throws PublicError unless exactly one of `ids` and `query` names some rows, and not too many */
async function choose(
  build: GraphileBuild.Build,
  table: TableResource,
  client: PgClient,
  { ids, query, queryValues, requestContext }: Wanted,
): Promise<Chosen> {
  if (ids != null && query != null)
    throw badUserInput("Give either `ids` or `query`, not both", { path: ["query"] });
  if (ids != null) {
    if (queryValues != null)
      throw badUserInput("queryValues: there is no `query`", { path: ["queryValues"] });
    if (ids.length === 0) throw badUserInput("ids: name at least one row", { path: ["ids"] });
    if (ids.length > mostBulkRows)
      throw badUserInput(`ids: at most ${mostBulkRows} rows at once, not ${ids.length}`, {
        path: ["ids"],
      });
    return { ids: [...new Set(ids)], matches: null };
  }
  if (query == null)
    throw badUserInput("Give `ids` or `query`: without them no row is changed", { path: ["ids"] });
  if (query.trim() === "")
    throw badUserInput("query: an empty search changes nothing (`id:*` matches every row)", {
      path: ["query"],
    });
  checkGuard(tableGuard(table), requestContext);
  const { matches } = searchOf(build.searchTable(table))(query, queryValues);
  const found = await idsOf(
    client,
    table,
    (row) => sql`${matches(row)} limit ${sql.literal(mostBulkRows + 1)}`,
  );
  if (found.length > mostBulkRows)
    throw badUserInput(
      `query: more than ${mostBulkRows} rows match, the most that change at once`,
      {
        path: ["query"],
      },
    );
  return { ids: found, matches };
}

/** The ids of rows by the end of a statement after its `where`. */
async function idsOf(
  client: PgClient,
  table: TableResource,
  condition: (row: SQL) => SQL,
): Promise<string[]> {
  const row = sql.identifier(Symbol("row"));
  const { text, values } = sql.compile(
    sql`select ${row}.id from ${table.from as SQL} as ${row} where ${condition(row)}`,
  );
  const { rows } = await client.query<{ id: string }>({ text, values: [...values] });
  return rows.map(({ id }) => id);
}

const isOneOf = (row: SQL, ids: readonly string[]) =>
  sql`${row}.id = any (${sql.value(ids)}::uuid[])`;

const isChosen = (row: SQL, { ids, matches }: Chosen) =>
  matches ? sql`${isOneOf(row, ids)} and ${matches(row)}` : isOneOf(row, ids);

type Write = (client: PgClient, chosen: Chosen, wanted: Wanted) => Promise<BulkResult>;

function makeUpdate(build: GraphileBuild.Build, resource: TableResource): Write {
  const valuesOf = columnValues(build, resource.codec);
  const table = build.sql.compile(resource.codec.sqlType).text;
  return async (client, chosen, wanted) => {
    // In one order, so that two mutations of the same rows wait for each other and do not deadlock.
    const locked = await idsOf(
      client,
      resource,
      (row) => sql`${isChosen(row, chosen)} order by ${row}.id for no key update`,
    );
    await requireAll(build, resource, client, { verb: "update", chosen, done: locked });
    const values = valuesOf(wanted.input);
    const names = Object.keys(values).map((name) => pg.escapeIdentifier(name));
    const of = (row: string) => names.map((name) => `${row}.${name}`).join(", ");
    const { rows } = await client.query({
      // JSON compares values of all types.
      text: `update ${table} as stored set (${names.join(", ")}) = row(${of("given")})
        from ${valuesSource(table, names.join(", "))} as given
        where stored.id = any ($2::uuid[])
          and to_jsonb(row(${of("stored")})) is distinct from to_jsonb(row(${of("given")}))
        returning stored.id`,
      values: [JSON.stringify(values), locked],
    });
    return {
      matched: locked.length,
      changed: rows.length,
      unchanged: locked.length - rows.length,
    };
  };
}

function makeDelete(build: GraphileBuild.Build, resource: TableResource): Write {
  return async (client, chosen) => {
    const row = sql.identifier(Symbol("row"));
    const { text, values } = sql.compile(
      sql`delete from ${resource.from as SQL} as ${row} where ${isChosen(row, chosen)} returning ${row}.id`,
    );
    const { rows } = await client.query<{ id: string }>({ text, values: [...values] });
    const done = rows.map(({ id }) => id);
    await requireAll(build, resource, client, { verb: "delete", chosen, done });
    return { matched: done.length, changed: done.length, unchanged: 0 };
  };
}

/**
 * Rejects a mutation that reached fewer rows than were chosen. Rows of a query that do not match any more, because
 * somebody has changed them meanwhile, are left out instead.
 */
async function requireAll(
  build: GraphileBuild.Build,
  resource: TableResource,
  client: PgClient,
  { verb, chosen, done }: { verb: Verb; chosen: Chosen; done: readonly string[] },
): Promise<void> {
  const reached = new Set(done);
  const missing = chosen.ids.filter((id) => !reached.has(id));
  const [first] = missing;
  if (first === undefined) return;
  const { matches } = chosen;
  if (matches === null) {
    const path = ["ids", chosen.ids.indexOf(first)];
    throw await missingRow(build, resource, { client, verb, id: first, path });
  }
  const seen = await idsOf(client, resource, (row) => isChosen(row, { ids: missing, matches }));
  if (seen.length > 0)
    throw new PublicError(
      "FORBIDDEN",
      `You may not ${verb} ${seen.length} of the ${chosen.ids.length} rows that match`,
      { path: ["query"] },
    );
}

interface Attempt {
  ids: string[];
  write: (client: PgClient, ids: string[]) => Promise<BulkResult>;
}

/** Writes all rows; when the database rejects one of them, finds out which, by trying ever smaller halves. */
async function writeOrNameRow(
  build: GraphileBuild.Build,
  table: TableResource,
  client: PgClient,
  { ids, write }: Attempt,
): Promise<BulkResult> {
  const attempt = async (some: string[]): Promise<unknown> => {
    try {
      await client.withTransaction(async (inner) => {
        await write(inner, some);
        throw takenBack;
      });
    } catch (error) {
      return error === takenBack ? null : error;
    }
    return null;
  };
  try {
    return await client.withTransaction((inner) => write(inner, ids));
  } catch (error) {
    if (!isRejectedRow(error) || ids.length === 1) throw error;
    let suspects = ids;
    while (suspects.length > 1) {
      const half = suspects.slice(0, Math.ceil(suspects.length / 2));
      suspects = isRejectedRow(await attempt(half)) ? half : suspects.slice(half.length);
    }
    const [id = ""] = suspects;
    const failure = await attempt([id]);
    // Rows that are rejected only together, such as two with one number, have none that is to blame.
    if (!isRejectedRow(failure)) throw error;
    throw new RowError({ id, name: await nameOf(build, table, client, id) }, failure);
  }
}

async function nameOf(
  build: GraphileBuild.Build,
  table: TableResource,
  client: PgClient,
  id: string,
): Promise<string> {
  const { name } = labelColumns(build, table as PgResource);
  const row = sql.identifier(Symbol("row"));
  const { text, values } = sql.compile(
    sql`select ${row}.${sql.identifier(name)}::text as name from ${table.from as SQL} as ${row} where ${isOneOf(row, [id])}`,
  );
  const { rows } = await client.query<{ name: string | null }>({ text, values: [...values] });
  return rows[0]?.name ?? id;
}
