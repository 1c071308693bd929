import { type FieldArgs, type Step, context, lambda, object } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import { checkGuard } from "../auth/guards.ts";
import { badUserInput } from "../errors/PublicError.ts";
import { searchOf } from "../paging/connectionSearch.ts";
import {
  type Candidate,
  candidatesStatement,
  maxCandidates,
  rankCandidates,
} from "../paging/suggestions.ts";
import { type Table, labelColumns, labelFields, titleOfRow } from "../schema/labels.ts";
import { nameOfUnlabelled } from "../schema/rowNames.ts";
import { listedTables, tableGuard, tableNamed } from "../schema/listedTables.ts";

/** The maximum length of a text; no row has a longer name. */
const maxText = 200;
const maxFirst = 50;

interface SuggestionsRequest {
  entity: string;
  text: string;
  first: number;
  query: string | null | undefined;
}

/** The query `suggestions`: autocompletion by name for any table. */
export const SuggestionsPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const { loadOneWithPgClient } = build.dataplanPg;
  const tables = listedTables(build);
  const executor = [...tables.values()][0]?.executor;
  if (!executor) throw new Error("The schema has no table with a list");

  const tableOf = (entity: string) => tableNamed(tables, entity, "entity");

  const searchFor = (entity: string, query: string) =>
    searchOf(build.searchTable(tableOf(entity)))(query, null);

  /** The validated arguments. */
  const check = (
    wanted: SuggestionsRequest,
    caller: Parameters<typeof checkGuard>[1],
  ): SuggestionsRequest => {
    const table = tableOf(wanted.entity);
    checkGuard(tableGuard(table), caller);
    if (wanted.text.length > maxText)
      throw badUserInput(`text has at most ${maxText} characters`, { path: ["text"] });
    if (wanted.first < 1 || wanted.first > maxFirst)
      throw badUserInput(`first is between 1 and ${maxFirst}`, { path: ["first"] });
    if (wanted.query != null) searchFor(wanted.entity, wanted.query);
    return { ...wanted, text: wanted.text.trim() };
  };

  return {
    typeDefs: gql`
      """
      A suggested row for typed text.
      """
      type Suggestion {
        """
        The id of the row, or its key in a table without ids.
        """
        id: String!
        """
        The name of the row; a time as in \`DateTime\`.
        """
        name: String!
        """
        A detail that distinguishes rows with the same name.
        """
        detail: String
        """
        The colour of the row.
        """
        color: String
      }

      extend type Query {
        """
        Rows whose name equals the text, begins with it, or has a word that begins with it, in this order, with shorter
        names first. Includes rows whose detail, such as a number, equals the text or begins with it. An empty text
        returns the first rows of the list. Of more than 500 matches, only rows whose name equals the text are certain to
        be found. Rows without a name have that of their kind and the end of their id. Needs the permission to read the table.
        """
        suggestions(
          """
          The name of the table in \`console\` and \`searchFields\`, such as \`products\`.
          """
          entity: String!
          """
          The typed text.
          """
          text: String!
          """
          The maximum number of rows, at most 50.
          """
          first: Int! = 8
          """
          Only rows that match this search.
          """
          query: String
        ): [Suggestion!]! @scope(guard: "principal")
      }
    `,
    objects: {
      Query: {
        plans: {
          suggestions(_$root: Step, args: FieldArgs) {
            const $wanted = object({
              entity: args.getRaw("entity"),
              text: args.getRaw("text"),
              first: args.getRaw("first"),
              query: args.getRaw("query"),
            }) as Step<SuggestionsRequest>;
            const $checked = lambda(
              [$wanted, context().get("requestContext")],
              ([wanted, caller]) => check(wanted, caller),
            );
            return loadOneWithPgClient(executor, $checked, (client, all) =>
              Promise.all(
                all.map(async ({ entity, text, first, query }) => {
                  const table = tableOf(entity);
                  const search = query == null ? null : searchFor(entity, query);
                  const columns = labelColumns(build, table);
                  const searched = build.searchTable(table);
                  const { nameField, detailField } = labelFields(build, table as Table);
                  const candidates = async (isExact: boolean) => {
                    const statement = build.sql.compile(
                      candidatesStatement(table, searched, columns, {
                        text,
                        search,
                        first,
                        nameField: searched.fields.get(nameField),
                        detailField: searched.fields.get(detailField ?? ""),
                        isExact,
                      }),
                    );
                    const { rows } = await client.query<Candidate>({
                      text: statement.text,
                      values: [...statement.values],
                    });
                    return rows;
                  };
                  const some = await candidates(false);
                  // The row with exactly this name may be among those that were left out.
                  const exact = some.length >= maxCandidates ? await candidates(true) : [];
                  const rows = new Map([...some, ...exact].map((row) => [row.id, row]));
                  const titleOne = titleOfRow(build, table as Table);
                  const named = [...rows.values()].map((row) => ({
                    ...row,
                    name: row.name ?? nameOfUnlabelled(titleOne, row.id),
                  }));
                  const found = rankCandidates(named, text, first);
                  if (table.extensions?.tags?.auditReads !== undefined && found.length > 0)
                    await client.query({
                      text: "select record_read($1, null, $2)",
                      values: [
                        build.inflection.tableType(table.codec),
                        JSON.stringify({
                          field: "suggestions",
                          arguments: { entity, text },
                          rows: found.length,
                        }),
                      ],
                    });
                  return found;
                }),
              ),
            );
          },
        },
      },
    },
  };
}, "SuggestionsPlugin");
