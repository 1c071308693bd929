import type { PgClient, PgResource } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, object } from "postgraphile/grafast";
import type { SQL } from "postgraphile/pg-sql2";
import { sql } from "postgraphile/pg-sql2";
import { extendSchema, gql } from "postgraphile/utils";
import { badUserInput, type PublicError, underPath } from "../errors/PublicError.ts";
import { namedColumns } from "../sqlJson/order.ts";
import { searchOf, type Search } from "../paging/connectionSearch.ts";
import { defaultOrder, eachOnce, missingKey, orderSql } from "../paging/defaultOrder.ts";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import { resource } from "../schema/resource.ts";

interface Input {
  templateId: string;
  productIds?: string[] | null;
  query?: string | null;
  queryValues?: unknown;
  orderBy?: unknown[] | null;
  format: string;
}

/** Exports of listed or searched products; compiling a search needs TypeScript. */
export const DataExportPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const products = resource(build, "products");
  const jobs = resource(build, "export_jobs");
  const search = searchOf(build.searchTable(products));
  const { sideEffectWithPgClientTransaction } = build.dataplanPg;
  const order = ({ orderBy }: Input): readonly OrderColumn[] => {
    const named = namedColumns(build.getTypeByName("ProductOrderBy"), orderBy ?? []);
    return named.length === 0
      ? defaultOrder(products)
      : eachOnce([...named, ...missingKey(products, named)]);
  };

  return {
    typeDefs: gql`
      """
      The format of an export's file.
      """
      enum ExportFormat {
        """
        An Excel workbook.
        """
        XLSX
        """
        Comma-separated values (RFC 4180) in UTF-8 with a byte order mark.
        """
        CSV
        """
        One JSON object a line, keyed by the template's fields.
        """
        JSONL
      }

      """
      What \`createDataExportFromTemplate\` takes: a template, and either \`productIds\` or \`query\`.
      """
      input CreateDataExportFromTemplateInput {
        """
        The template: a form takes exactly one product, a table one or several.
        """
        templateId: ID!
        """
        Ids of products, in the order of the rows; one that is named twice is exported once.
        """
        productIds: [ID!]
        """
        A search as in \`products(query:)\`: exports all products that match at this moment. \`id:*\` matches every product.
        """
        query: String
        """
        Values for \`query\`, as in \`products(queryValues:)\`.
        """
        queryValues: JSON
        """
        The order of the rows that \`query\` finds; without it, the order of \`products\`.
        """
        orderBy: [ProductOrderBy!]
        """
        CSV and JSONL need a table of columns: a form and an uploaded workbook are exported as XLSX only.
        """
        format: ExportFormat! = XLSX
      }

      extend type Mutation {
        """
        Starts an export of products to a file. Ask \`exportJob\` until its status is \`completed\`, then \`GET /exports/<id>/download\` for the file's address.
        """
        createDataExportFromTemplate(
          """
          Its values.
          """
          input: CreateDataExportFromTemplateInput!
        ): ExportJob! @scope(guard: "exports.create products.read")
      }
    `,
    objects: {
      Mutation: {
        plans: {
          createDataExportFromTemplate(_$root: Step, args: FieldArgs) {
            const $wanted = object({ input: args.getRaw("input") }) as Step<{ input: Input }>;
            const $id = sideEffectWithPgClientTransaction(
              jobs.executor,
              $wanted,
              async (client, { input }) => {
                checkSelection(input);
                return input.query == null
                  ? startNamed(client, input)
                  : startFound(client, input, {
                      found: foundBy(search, input, products),
                      order: order(input),
                    });
              },
            );
            return jobs.get({ id: $id });
          },
        },
      },
    },
  };
}, "DataExportPlugin");

/** Neither an empty search nor a missing list means all products. @throws PublicError */
function checkSelection({ productIds, query, queryValues, orderBy }: Input): void {
  if ((productIds == null) === (query == null))
    throw refusal("either productIds or query is needed, and not both", []);
  if (query?.trim() === "")
    throw refusal("query: an empty search exports nothing (`id:*` matches every product)", [
      "query",
    ]);
  if (query == null && queryValues != null)
    throw refusal("queryValues goes with query", ["queryValues"]);
  if (productIds != null && orderBy != null)
    throw refusal("orderBy goes with query: productIds are exported in their own order", [
      "orderBy",
    ]);
}

function refusal(message: string, path: readonly string[], details: object = {}): PublicError {
  return badUserInput(message, { ...details, path: ["input", ...path] });
}

type Found = (row: SQL) => { from: SQL; where: SQL };

/** The products of a search. @throws PublicError */
function foundBy(search: Search, { query, queryValues }: Input, products: PgResource): Found {
  const { matches } = underPath("input", () => search(query ?? "", queryValues));
  return (row) => ({ from: products.from as SQL, where: matches(row) });
}

async function startNamed(client: PgClient, input: Input): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>({
    text: "select id from create_data_export_from_template(jsonb_populate_record(null::data_export_input, $1::jsonb))",
    values: [JSON.stringify(columns(input))],
  });
  return rows[0]?.id ?? null;
}

/** The ids stay in the database, however many there are. */
async function startFound(
  client: PgClient,
  input: Input,
  { found, order }: { found: Found; order: readonly OrderColumn[] },
): Promise<string | null> {
  const row = sql.identifier(Symbol("product"));
  const { from, where } = found(row);
  const counted = sql.compile(
    sql`select count(*)::integer as count, current_setting('office.export_max_products')::integer as most from ${from} as ${row} where ${where}`,
  );
  const { rows } = await client.query<{ count: number; most: number }>(statement(counted));
  const { count = 0, most = 0 } = rows[0] ?? {};
  if (count > most)
    throw refusal(`query: ${count} products match, more than the ${most} of one export`, ["query"]);
  const ids = sql`array(select ${row}.id from ${from} as ${row} where ${where} order by ${orderSql(order, row)} limit ${sql.value(most + 1)}::integer)`;
  const started = sql.compile(
    sql`select id from create_data_export_from_template(jsonb_populate_record(row(null, ${ids}, null, null)::data_export_input, ${sql.value(JSON.stringify(columns(input)))}::jsonb))`,
  );
  const result = await client.query<{ id: string }>(statement(started));
  return result.rows[0]?.id ?? null;
}

function statement({ text, values }: ReturnType<typeof sql.compile>) {
  return { text, values: [...values] };
}

function columns({ templateId, productIds, query, format }: Input) {
  return { template_id: templateId, product_ids: productIds ?? undefined, query, format };
}
