import { randomUUID } from "node:crypto";
import type { PgClient, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, context, object } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import { checkGuard } from "../auth/guards.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { badUserInput, PublicError } from "../errors/PublicError.ts";
import { type Search, makeSearch } from "../paging/connectionSearch.ts";
import { labelColumns } from "../schema/labels.ts";
import { listedTables, tableGuard, tableNamed } from "../schema/listedTables.ts";
import { resource } from "../schema/resource.ts";

/** A watch keeps the ids of all rows that match. */
const maxMatches = 10_000;

interface Input {
  entity?: string;
  query?: string | null;
  [field: string]: unknown;
}

interface Request {
  id: string | null;
  input: Input;
  requestContext: RequestInfo;
}

/** A search as SQL, for the columns of `search_watches`. */
interface Compiled {
  table_name: string;
  statement: string;
  statement_values: unknown[];
  seen_statement: string;
  ids_at: number;
}

/** Saves search watches: compiling a search needs TypeScript. The worker runs the stored SQL. */
export const SearchWatchesPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const { sql } = build;
  const watches = resource(build, "search_watches");
  const { sideEffectWithPgClientTransaction } = build.dataplanPg;
  // Without their own ids rows cannot be told apart.
  const tables = new Map(
    [...listedTables(build)].filter(
      ([, { codec }]) => (codec as PgCodecWithAttributes).attributes["id"]?.codec.name === "uuid",
    ),
  );
  const searches = new Map<string, Search>();

  function searchOf(entity: string, table: PgResource): Search {
    const search = searches.get(entity) ?? makeSearch(build.searchTable(table));
    searches.set(entity, search);
    return search;
  }

  function compile(entity: string, query: string, caller: RequestInfo): Compiled {
    const table = atInput(() => tableNamed(tables, entity, "entity"));
    checkGuard(tableGuard(table), caller);
    const { matches, isRelative } = atInput(() => searchOf(entity, table)(query, null));
    if (isRelative)
      throw badUserInput(
        "query: a watch takes no times that depend on the present, such as today",
        {
          path: ["input", "query"],
        },
      );
    const row = sql.identifier(Symbol("row"));
    const label = labelColumns(table).name;
    const shown = sql`${row}.id, ${row}.${sql.identifier(label)}::text from ${table.from as never} as ${row}`;
    // A null in its place looks at all rows; the mark finds the place among the values.
    const mark = randomUUID();
    const ids = sql`${sql.value(mark)}::uuid[]`;
    const found = sql.compile(
      sql`select ${shown} where (${ids} is null or ${row}.id = any (${ids})) and (${matches(row)}) limit ${sql.literal(maxMatches + 1)}`,
    );
    const seen = sql.compile(sql`select ${shown} where ${row}.id = any (${sql.value([])}::uuid[])`);
    return {
      table_name: table.extensions?.pg?.name ?? table.name,
      statement: found.text,
      statement_values: found.values.map((value) => (value === mark ? null : value)),
      seen_statement: seen.text,
      ids_at: found.values.indexOf(mark),
    };
  }

  async function save(client: PgClient, { id, input, requestContext }: Request): Promise<string> {
    const entity = input.entity ?? (await entityOf(client, id));
    const compiled =
      entity !== null && input.query != null
        ? compile(entity, input.query, requestContext)
        : undefined;
    if (compiled) await checkSize(client, compiled);
    const { rows } = await client.query<{ id: string }>({
      text: "select save_search_watch($1, $2) as id",
      values: [
        id,
        JSON.stringify({
          ...Object.fromEntries(
            Object.entries(input).map(([field, value]) => [snakeCase(field), value]),
          ),
          ...compiled,
        }),
      ],
    });
    return rows[0]?.id ?? "";
  }

  const saved = (args: FieldArgs, $id: Step<string> | null) =>
    watches.get({
      id: sideEffectWithPgClientTransaction(
        watches.executor,
        object({
          ...($id && { id: $id }),
          input: args.getRaw("input") as Step<Input>,
          requestContext: context().get("requestContext"),
        }) as Step<Omit<Request, "id"> & { id?: string }>,
        (client, { id = null, ...request }) => save(client, { ...request, id }),
      ),
    });

  return {
    typeDefs: gql`
      """
      What a new search watch is like.
      """
      input CreateSearchWatchInput {
        """
        What it is for.
        """
        name: String!
        """
        The list that is searched, such as \`products\`. The caller must be allowed to read it.
        """
        entity: String!
        """
        The search, as in the argument \`query\` of that list; it matches 10,000 rows at most and names no times that
        depend on the present.
        """
        query: String!
        """
        What it tells of.
        """
        events: [SearchWatchEvent!] = [CREATED, MATCHES]
        """
        When it tells.
        """
        delivery: SearchWatchDelivery = AT_ONCE
        """
        How it tells.
        """
        channels: [SearchWatchChannel!] = [INBOX]
      }

      """
      What changes in a search watch; what is left out stays.
      """
      input UpdateSearchWatchInput {
        """
        What it is for.
        """
        name: String
        """
        Another search of the same list.
        """
        query: String
        """
        What it tells of.
        """
        events: [SearchWatchEvent!]
        """
        When it tells.
        """
        delivery: SearchWatchDelivery
        """
        How it tells.
        """
        channels: [SearchWatchChannel!]
        """
        Whether it tells nothing. What happens meanwhile is not told later.
        """
        isPaused: Boolean
      }

      extend type Mutation {
        """
        Saves a search whose owner, the caller, hears of rows that begin or cease to match; 50 at most.
        """
        createSearchWatch(
          """
          Its values.
          """
          input: CreateSearchWatchInput!
        ): SearchWatch! @scope(guard: "login")

        """
        Changes a search watch of the caller.
        """
        updateSearchWatch(
          """
          The watch.
          """
          id: ID!
          """
          The new values.
          """
          input: UpdateSearchWatchInput!
        ): SearchWatch! @scope(guard: "login")
      }
    `,
    objects: {
      Mutation: {
        plans: {
          createSearchWatch(_$root: Step, args: FieldArgs) {
            return saved(args, null);
          },
          updateSearchWatch(_$root: Step, args: FieldArgs) {
            return saved(args, args.getRaw("id") as Step<string>);
          },
        },
      },
    },
  };
}, "SearchWatchesPlugin");

/** The list of a watch of the caller; null for one that there is not, which saving refuses. */
async function entityOf(client: PgClient, id: string | null): Promise<string | null> {
  const { rows } = await client.query<{ entity: string }>({
    text: "select entity from search_watches where id = $1",
    values: [id],
  });
  return rows[0]?.entity ?? null;
}

async function checkSize(
  client: PgClient,
  { statement, statement_values: values }: Compiled,
): Promise<void> {
  const { rows } = await client.query<{ count: number }>({
    text: `select count(*)::integer as count from (${statement}) as found`,
    values,
  });
  if ((rows[0]?.count ?? 0) > maxMatches)
    throw badUserInput(`query matches more than ${maxMatches} rows: narrow it`, {
      path: ["input", "query"],
    });
}

/** Runs `action`; its errors name arguments, which are fields of the input here. */
function atInput<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof PublicError)) throw error;
    const { path = [] } = error.details as { path?: string[] };
    throw badUserInput(error.message, { ...error.details, path: ["input", ...path] });
  }
}

const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
