import type { PgClient, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, context, object } from "postgraphile/grafast";
import type { GraphQLEnumType } from "graphql";
import { type SQL, sql } from "postgraphile/pg-sql2";
import { extendSchema, gql } from "postgraphile/utils";
import { checkGuard } from "../auth/guards.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { badUserInput, underPath } from "../errors/PublicError.ts";
import { searchOf } from "../paging/connectionSearch.ts";
import {
  defaultOrder,
  eachOnce,
  missingKey,
  orderSql,
  type OrderColumn,
} from "../paging/defaultOrder.ts";
import { listColumns } from "../schema/exportedColumns.ts";
import { tagText, titleOf } from "../schema/labels.ts";
import { listedTables, tableGuard, tableNamed } from "../schema/listedTables.ts";
import { resource } from "../schema/resource.ts";
import { namedColumns } from "../sqlJson/order.ts";
import { didYouMean } from "../text/suggest.ts";

interface Input {
  entity: string;
  query: string;
  queryValues?: unknown;
  orderBy?: string[] | null;
  columns?: string[] | null;
  format: string;
}

/** Exports of any list to a table: compiling a search needs TypeScript. The worker runs the stored SQL as the user. */
export const ListExportPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const jobs = resource(build, "export_jobs");
  const { sideEffectWithPgClientTransaction } = build.dataplanPg;
  // `auditLogs` is a separate query and not a list.
  const tables = new Map<string, PgResource>([
    ...listedTables(build),
    ["auditLogs", resource(build, "audit_log")],
  ]);

  async function start(client: PgClient, input: Input, caller: RequestInfo): Promise<string> {
    const table = underPath("input", () => tableNamed(tables, input.entity, "entity"));
    checkGuard(tableGuard(table), caller);
    const tags = table.extensions?.tags ?? {};
    if (tags.session !== undefined)
      throw badUserInput(`entity: ${input.entity} shows in sessions only and cannot be exported`, {
        path: ["input", "entity"],
      });
    if (input.query.trim() === "")
      throw badUserInput("query: an empty search exports nothing (`id:*` matches every row)", {
        path: ["input", "query"],
      });
    const { matches } = underPath("input", () =>
      searchOf(build.searchTable(table))(input.query, input.queryValues),
    );
    const columns = underPath("input", () => listColumns(build, table, input.columns ?? null));
    const order = orderOf(table, input);
    const row = sql.identifier(Symbol("row"));
    const from = sql`from ${table.from as SQL} as ${row} where ${matches(row)}`;
    const { count, most } = await countRows(client, from);
    if (count === 0) throw badUserInput("query: no row matches", { path: ["input", "query"] });
    if (count > most)
      throw badUserInput(`query: more than ${most} rows match, the most that one export has`, {
        path: ["input", "query"],
      });
    const values = columns.map(
      ({ read }, index) => sql`${read(row)} as ${sql.identifier(`c${index}`)}`,
    );
    const found = sql.compile(
      sql`select (row_number() over ())::integer, r.* from (
        select ${sql.join(values, ", ")} ${from} order by ${orderSql(order, row)} limit ${sql.literal(most)}
      ) as r`,
    );
    const source = tagText(tags, "title") ?? titleOf(input.entity);
    const { rows } = await client.query<{ id: string }>({
      text: "select start_list_export($1, $2) as id",
      values: [
        JSON.stringify({
          source,
          entity: input.entity,
          query: input.query,
          format: input.format.toLowerCase(),
          total_rows: count,
        }),
        JSON.stringify({
          table_name: table.extensions?.pg?.name ?? table.name,
          statement: found.text,
          statement_values: found.values,
          columns: columns.map(({ field, title, kind }) => ({
            ...{ field, title, kind, width: null, numberFormat: null, hidden: false },
          })),
          tables: [...new Set(columns.flatMap(({ tables: read }) => read))],
        }),
      ],
    });
    return rows[0]?.id ?? "";
  }

  /** @throws PublicError for an unknown order, with the nearest known one */
  function orderOf(table: PgResource, { orderBy }: Input): readonly OrderColumn[] {
    if (orderBy == null || orderBy.length === 0) return defaultOrder(table);
    const { codec } = table as PgResource<string, PgCodecWithAttributes>;
    const type = build.getTypeByName(
      build.inflection.orderByType(build.inflection.tableType(codec)),
    ) as GraphQLEnumType | undefined;
    const values = orderBy.map((name) => {
      const value = type?.getValue(name);
      if (value) return value.value as unknown;
      const known = type?.getValues().map((one) => one.name) ?? [];
      throw badUserInput(`orderBy: \`${name}\` is no order of the list${didYouMean(name, known)}`, {
        path: ["input", "orderBy"],
      });
    });
    const named = namedColumns(type, values);
    return eachOnce([...named, ...missingKey(table, named)]);
  }

  return {
    typeDefs: gql`
      """
      The rows and columns of a list, and the format of the file.
      """
      input CreateListExportInput {
        """
        The name of the list, such as \`orders\` or \`auditLogs\`. The caller needs its read permission.
        """
        entity: String!
        """
        The search, as in the argument \`query\` of the list. \`id:*\` matches every row.
        """
        query: String!
        """
        Values for \`query\`.
        """
        queryValues: JSON
        """
        The order, as in the argument \`orderBy\` of the list; without it, the list's own.
        """
        orderBy: [String!]
        """
        The fields to export, such as \`erpOrderNumber\` or \`customer.name\`; without them, all fields of the row itself.
        """
        columns: [String!]
        """
        The format of the file.
        """
        format: ExportFormat! = XLSX
      }

      extend type Mutation {
        """
        Starts an export of the rows of any list that the caller may read. The file holds what the caller can read when it is
        written. Ask \`exportJob\` until its status is \`completed\`, then \`GET /exports/<id>/download\` for the file's address.
        """
        createListExport(
          """
          What to export.
          """
          input: CreateListExportInput!
        ): ExportJob! @scope(guard: "exports.create")
      }
    `,
    objects: {
      Mutation: {
        plans: {
          createListExport(_$root: Step, args: FieldArgs) {
            const $wanted = object({
              input: args.getRaw("input"),
              requestContext: context().get("requestContext"),
            }) as Step<{ input: Input; requestContext: RequestInfo }>;
            const $id = sideEffectWithPgClientTransaction(
              jobs.executor,
              $wanted,
              (client, { input, requestContext }) => start(client, input, requestContext),
            );
            return jobs.get({ id: $id });
          },
        },
      },
    },
  };
}, "ListExportPlugin");

async function countRows(client: PgClient, from: SQL): Promise<{ count: number; most: number }> {
  const most = sql`current_setting('office.export_max_products')::integer`;
  const { text, values } = sql.compile(
    sql`select count(*)::integer as count, ${most} as most from (select ${from} limit ${most} + 1) as r`,
  );
  const { rows } = await client.query<{ count: number; most: number }>({
    text,
    values: [...values],
  });
  return rows[0] ?? { count: 0, most: 0 };
}
