import { randomUUID } from "node:crypto";
import type { PgClient, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, context, object } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import { checkGuard } from "../auth/guards.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { badUserInput, underPath } from "../errors/PublicError.ts";
import { searchOf } from "../paging/connectionSearch.ts";
import { parseQuery } from "../query/parse.ts";
import { relatedTables } from "../query/relatedTables.ts";
import type { SearchTable } from "../query/searchTable.ts";
import { maxWatchedRows } from "../query/watchLimit.ts";
import { labelColumns, tagText } from "../schema/labels.ts";
import { listedTables, tableGuard, tableNamed } from "../schema/listedTables.ts";
import { isView } from "../schema/lookUpKey.ts";
import { resource } from "../schema/resource.ts";
import { databaseName } from "../schema/databaseName.ts";

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
  related_tables: string[];
}

/** Saves search watches: compiling a search needs TypeScript. The worker runs the stored SQL. */
export const SearchWatchesPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const { sql } = build;
  const watches = resource(build, "search_watches");
  const { sideEffectWithPgClientTransaction } = build.dataplanPg;
  const listed = listedTables(build);
  const tables = new Map([...listed].filter(([, table]) => !whyUnwatched(table)));

  function compile(entity: string, query: string, caller: RequestInfo): Compiled {
    const table = underPath("input", () => watchedTable(entity));
    checkGuard(tableGuard(table), caller);
    const searchTable = build.searchTable(table);
    const { matches, relativeTime } = underPath("input", () => searchOf(searchTable)(query, null));
    if (relativeTime) {
      const { text, position, end } = relativeTime;
      throw badUserInput(
        `query: a watch cannot use relative times such as ${text} at position ${position + 1}`,
        { path: ["input", "query"], position: position + 1, length: end - position },
      );
    }
    const row = sql.identifier(Symbol("row"));
    const { name, detail } = labelColumns(build, table);
    const shown = [name, ...(detail === null ? [] : [detail]), "id"].map(
      (column) => sql`nullif(${row}.${sql.identifier(column)}::text, '')`,
    );
    const idAndName = sql`${row}.id, coalesce(${sql.join(shown, ", ")}) from ${table.from as never} as ${row}`;
    // Null evaluates all rows. The mark identifies the parameter among the compiled values.
    const mark = randomUUID();
    const ids = sql`${sql.value(mark)}::uuid[]`;
    const found = sql.compile(
      sql`select ${idAndName} where (${ids} is null or ${row}.id = any (${ids})) and (${matches(row)}) limit ${sql.literal(maxWatchedRows + 1)}`,
    );
    const seen = sql.compile(
      sql`select ${idAndName} where ${row}.id = any (${sql.value([])}::uuid[])`,
    );
    return {
      table_name: databaseName(table),
      related_tables: relatedTo(searchTable, query),
      statement: found.text,
      statement_values: found.values.map((value) => (value === mark ? null : value)),
      seen_statement: seen.text,
      ids_at: found.values.indexOf(mark),
    };
  }

  /** @throws PublicError for another list, with the reason or the nearest names */
  function watchedTable(entity: string): PgResource {
    const other = tables.has(entity) ? undefined : listed.get(entity);
    if (other === undefined) return tableNamed(tables, entity, "entity");
    throw badUserInput(`entity: ${entity} cannot be watched, ${whyUnwatched(other)}`, {
      path: ["entity"],
    });
  }

  /** The names of the tables whose changes can change the result, besides that of the rows. */
  function relatedTo(table: SearchTable, query: string): string[] {
    const related = new Set(relatedTables(parseQuery(query), table));
    return [...related].map((name) => {
      const found = build.pgResources[name] as PgResource;
      const reason = whyUnqueued(found);
      if (reason)
        throw badUserInput(
          `query: a watch cannot search ${build.inflection.tableType(found.codec as PgCodecWithAttributes)}, ${reason}`,
          { path: ["input", "query"] },
        );
      return databaseName(found);
    });
  }

  async function save(client: PgClient, { id, input, requestContext }: Request): Promise<string> {
    const compiled = await compiledInput(client, { id, input, requestContext });
    const columns = Object.fromEntries(
      Object.entries(input).map(([field, value]) => [snakeCase(field), value]),
    );
    const values = [id, JSON.stringify({ ...columns, ...compiled })];
    const { rows } = await client.query<{ id: string }>(
      compiled
        ? saveWithBaseline(compiled, values)
        : { text: "select save_search_watch($1, $2) as id", values },
    );
    return rows[0]?.id ?? "";
  }

  async function compiledInput(
    client: PgClient,
    { id, input, requestContext }: Request,
  ): Promise<Compiled | undefined> {
    // Resuming compiles the search again: it may have failed, or the watch may be restored.
    if (input.query == null && input["isPaused"] !== false) return undefined;
    const watch = id === null ? undefined : await watchOf(client, id);
    const entity = input.entity ?? watch?.entity;
    const query = input.query ?? watch?.query;
    return entity === undefined || query === undefined
      ? undefined
      : compile(entity, query, requestContext);
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
      The values of a new search watch.
      """
      input CreateSearchWatchInput {
        """
        The name of the search watch.
        """
        name: String!
        """
        The name of the searched list, such as \`products\`. The caller needs its read permission.
        """
        entity: String!
        """
        The search, as in the argument \`query\` of that list. It may match at most 10,000 rows and cannot use relative
        times such as \`today\`.
        """
        query: String!
        """
        The events that the owner is notified of.
        """
        events: [SearchWatchEvent!] = [CREATED, MATCHES]
        """
        When the owner is notified.
        """
        delivery: SearchWatchDelivery = AT_ONCE
        """
        Where the owner is notified.
        """
        channels: [SearchWatchChannel!] = [INBOX]
      }

      """
      The new values of a search watch; omitted fields stay unchanged.
      """
      input UpdateSearchWatchInput {
        """
        The name of the search watch.
        """
        name: String
        """
        The new search of the same list.
        """
        query: String
        """
        The events that the owner is notified of.
        """
        events: [SearchWatchEvent!]
        """
        When the owner is notified.
        """
        delivery: SearchWatchDelivery
        """
        Where the owner is notified.
        """
        channels: [SearchWatchChannel!]
        """
        Whether the watch is paused. Events during a pause are not reported later. False also checks the search again.
        """
        isPaused: Boolean
      }

      extend type Mutation {
        """
        Creates a search watch of the caller, who is notified when rows start or stop matching. A user can have at most
        50 search watches.
        """
        createSearchWatch(
          """
          The values of the search watch.
          """
          input: CreateSearchWatchInput!
        ): SearchWatch! @scope(guard: "login")

        """
        Changes a search watch of the caller.
        """
        updateSearchWatch(
          """
          The id of the search watch.
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

/** Why a list cannot be watched; undefined if it can. */
function whyUnwatched(table: PgResource): string | undefined {
  const { attributes } = table.codec as PgCodecWithAttributes;
  return (
    whyUnqueued(table) ??
    (attributes["id"]?.codec.name === "uuid"
      ? undefined
      : "because its rows have no `id` of the type uuid")
  );
}

/** Why no trigger queues the changes of a table for watches; undefined for a table with such a trigger. */
function whyUnqueued(table: PgResource): string | undefined {
  const reason = tagText(table.extensions?.tags, "watch");
  if (reason !== null) return reason.replace(/^off\s+/, "");
  return isView(table) ? "because it is a view" : undefined;
}

/** The search of a watch of the caller; undefined for an unknown watch, which `save_search_watch` rejects. */
async function watchOf(
  client: PgClient,
  id: string,
): Promise<{ entity: string; query: string } | undefined> {
  const { rows } = await client.query<{ entity: string; query: string }>({
    text: "select entity, query from search_watches where id = $1",
    values: [id],
  });
  return rows[0];
}

/**
 * One statement saves a watch with the rows that match at that moment, read as the caller. Its snapshot tells later
 * changes from those that the rows hold.
 */
function saveWithBaseline(
  { statement, statement_values: values }: Compiled,
  saved: unknown[],
): { text: string; values: unknown[] } {
  const at = values.length;
  return {
    text: `select save_search_watch($${at + 1}, $${at + 2}, array(select found.id from (${statement}) as found), pg_current_snapshot()::text) as id`,
    values: [...values, ...saved],
  };
}

const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
