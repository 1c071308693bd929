import type { PgClient, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, context, object } from "postgraphile/grafast";
import type { GraphQLEnumType } from "graphql";
import { type SQL, sql } from "postgraphile/pg-sql2";
import { extendSchema, gql } from "postgraphile/utils";
import { checkGuard } from "../auth/guards.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { badUserInput, type PublicError, underPath } from "../errors/PublicError.ts";
import { exportFoundProducts, type FoundRows } from "../exports/exportFoundProducts.ts";
import { searchOf } from "../paging/connectionSearch.ts";
import { type OrderColumn, defaultOrder, orderSql, uniqueOrder } from "../paging/defaultOrder.ts";
import { namedColumns } from "../paging/orders.ts";
import { type ListColumn, listColumns } from "../schema/exportedColumns.ts";
import { makeExportedTable, productsEntity } from "../schema/exportedTables.ts";
import { tagText } from "../schema/labels.ts";
import { titleOf } from "../schema/rowNames.ts";
import { tableGuard } from "../schema/listedTables.ts";
import { resource } from "../schema/resource.ts";
import { databaseName } from "../schema/databaseName.ts";
import { didYouMean } from "../text/suggest.ts";

interface Input {
  entity: string;
  query: string;
  queryValues?: unknown;
  orderBy?: string[] | null;
  columns?: string[] | null;
  templateId?: string | null;
  format: string;
}

interface Template {
  name: string;
  kind: "FORM" | "TABLE";
  fields: string[];
}

/** Exports of any list: compiling a search needs TypeScript. The worker runs the stored SQL as the user. */
export const ListExportPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const jobs = resource(build, "export_jobs");
  const { sideEffectWithPgClientTransaction } = build.dataplanPg;
  const tableOf = makeExportedTable(build);

  async function start(client: PgClient, input: Input, caller: RequestInfo) {
    const { entity, query, queryValues, templateId } = input;
    const table = underPath("input", () => tableOf(entity));
    checkGuard(tableGuard(table), caller);
    if (query.trim() === "")
      throw refusal("query", "an empty search exports nothing (`id:*` matches every row)");
    if (templateId != null && input.columns != null)
      throw refusal("columns", "a template has its own columns: give either templateId or columns");
    const { matches } = underPath("input", () =>
      searchOf(build.searchTable(table))(query, queryValues),
    );
    const found = { from: table.from as SQL, matches, order: orderOf(table, input) };
    return templateId != null && entity === productsEntity
      ? exportFoundProducts(client, { ...input, templateId }, found)
      : exportFoundRows(client, input, table, found);
  }

  async function exportFoundRows(
    client: PgClient,
    input: Input,
    table: PgResource,
    found: FoundRows,
  ): Promise<string> {
    const template = await findTemplate(client, input);
    const columns = underPath("input", () =>
      template
        ? listColumns(build, table, template.fields, () => ["templateId"])
        : listColumns(build, table, withoutRepetition(input.columns ?? null)),
    );
    const { count, most } = await countRows(client, found);
    if (count === 0) throw refusal("query", "no row matches");
    if (count > most)
      throw refusal("query", `more than ${most} rows match, the most that one export has`);
    if (template?.kind === "FORM" && count > 1)
      throw refusal("query", `a form takes exactly one row, not ${count}`);
    const statement = statementOf(found, columns, most);
    const title = tagText(table.extensions?.tags, "title") ?? titleOf(input.entity);
    const started = await client.query<{ id: string }>({
      text: "select start_list_export($1, $2) as id",
      values: [
        JSON.stringify({
          source: template?.name ?? title,
          template_id: input.templateId,
          entity: input.entity,
          query: input.query,
          format: input.format.toLowerCase(),
          total_rows: count,
        }),
        JSON.stringify({
          table_name: databaseName(table),
          statement: statement.text,
          statement_values: statement.values,
          columns: columns.map(({ field, title, kind, tables }) => ({
            ...{ field, title, kind, tables },
          })),
          tables: [...new Set(columns.flatMap(({ tables: read }) => read))],
        }),
      ],
    });
    return started.rows[0]?.id ?? "";
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
      throw badUserInput(
        `orderBy: \`${name}\` is not an order of this list${didYouMean(name, known)}`,
        {
          path: ["input", "orderBy"],
        },
      );
    });
    return uniqueOrder(table, namedColumns(type, values));
  }

  return {
    typeDefs: gql`
      """
      The input of \`createListExport\`: the rows of a list, their columns or a template, and the format of the file.
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
        The order of the rows, as in the argument \`orderBy\` of the list; by default the order of the list.
        """
        orderBy: [String!]
        """
        The fields to export, such as \`erpOrderNumber\` or \`customer.name\`; by default all fields of the row itself.
        """
        columns: [String!]
        """
        A template of this list, instead of \`columns\`. A form takes exactly one row, a table one or several.
        """
        templateId: ID
        """
        The format of the file. Forms and uploaded workbooks are exported as XLSX only.
        """
        format: ExportFormat! = XLSX
      }

      extend type Mutation {
        """
        Starts an export of the rows of any list that the caller may read. The file contains the data that the caller
        can read when the file is written. Poll \`exportJob\` until its status is \`completed\`, then get the address of
        the file with \`GET /exports/<id>/download\`. Both need \`exports.read\`.
        """
        createListExport(
          """
          The rows, the columns and the format of the file.
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

function refusal(field: string, reason: string): PublicError {
  return badUserInput(`${field}: ${reason}`, { path: ["input", field] });
}

/** @throws PublicError for a column that is named twice, whose values would have one key in JSON Lines */
function withoutRepetition(columns: string[] | null): string[] | null {
  const seen = new Set<string>();
  for (const name of columns ?? []) {
    if (seen.has(name))
      throw badUserInput(`columns: \`${name}\` is named twice`, { path: ["columns"] });
    seen.add(name);
  }
  return columns;
}

/** @throws PublicError for a template of another list, or one that cannot have the format */
async function findTemplate(client: PgClient, input: Input): Promise<Template | null> {
  const { templateId, entity, format } = input;
  if (templateId == null) return null;
  const { rows } = await client.query<Template>({
    text: "select * from list_export_template($1, $2, $3)",
    values: [templateId, entity, format],
  });
  return rows[0] ?? null;
}

function statementOf(
  { from, matches, order }: FoundRows,
  columns: readonly ListColumn[],
  maxRows: number,
): ReturnType<typeof sql.compile> {
  const row = sql.identifier(Symbol("row"));
  const values = columns.map(
    ({ read }, index) => sql`${read(row)} as ${sql.identifier(`c${index}`)}`,
  );
  return sql.compile(
    sql`select (row_number() over ())::integer, r.* from (
      select ${sql.join(values, ", ")} from ${from} as ${row} where ${matches(row)}
      order by ${orderSql(order, row)} limit ${sql.literal(maxRows)}
    ) as r`,
  );
}

async function countRows(
  client: PgClient,
  { from, matches }: FoundRows,
): Promise<{ count: number; most: number }> {
  const row = sql.identifier(Symbol("row"));
  const most = sql`current_setting('office.export_max_products')::integer`;
  const { text, values } = sql.compile(
    sql`select count(*)::integer as count, ${most} as most from (
      select from ${from} as ${row} where ${matches(row)} limit ${most} + 1
    ) as r`,
  );
  const { rows } = await client.query<{ count: number; most: number }>({
    text,
    values: [...values],
  });
  return rows[0] ?? { count: 0, most: 0 };
}
