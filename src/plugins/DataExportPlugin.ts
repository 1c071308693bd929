import type { PgClient } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, object } from "postgraphile/grafast";
import type { SQL } from "postgraphile/pg-sql2";
import { extendSchema, gql } from "postgraphile/utils";
import { badUserInput, type PublicError, underPath } from "../errors/PublicError.ts";
import {
  exportFoundProducts,
  type ProductExport,
  productExportJson,
} from "../exports/exportFoundProducts.ts";
import { searchOf } from "../paging/connectionSearch.ts";
import { type OrderColumn, defaultOrder, uniqueOrder } from "../paging/defaultOrder.ts";
import { namedColumns } from "../paging/orders.ts";
import { resource } from "../schema/resource.ts";

interface Input extends ProductExport {
  queryValues?: unknown;
  orderBy?: unknown[] | null;
}

/** Exports of listed or searched products; compiling a search needs TypeScript. */
export const DataExportPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const products = resource(build, "products");
  const jobs = resource(build, "export_jobs");
  const search = searchOf(build.searchTable(products));
  const { sideEffectWithPgClientTransaction } = build.dataplanPg;
  const order = ({ orderBy }: Input): readonly OrderColumn[] => {
    const named = namedColumns(build.getTypeByName("ProductOrderBy"), orderBy ?? []);
    return named.length === 0 ? defaultOrder(products) : uniqueOrder(products, named);
  };

  return {
    typeDefs: gql`
      """
      The file format of an export.
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
        One JSON object per line, keyed by the template's fields.
        """
        JSONL
      }

      """
      The input of \`createDataExportFromTemplate\`: a template, and either \`productIds\` or \`query\`.
      """
      input CreateDataExportFromTemplateInput {
        """
        The template, which must be one for products. A form takes exactly one product, a table one or several.
        """
        templateId: ID!
        """
        The ids of products, in the order of the rows. A repeated id is exported once.
        """
        productIds: [ID!]
        """
        A search as in \`products(query:)\`. Exports all products that currently match. \`id:*\` matches every product.
        """
        query: String
        """
        Values for \`query\`, as in \`products(queryValues:)\`.
        """
        queryValues: JSON
        """
        The order of the rows found by \`query\`; by default the order of \`products\`.
        """
        orderBy: [ProductOrderBy!]
        """
        The format of the file. CSV and JSONL need a table with columns; forms and uploaded workbooks are exported as
        XLSX only.
        """
        format: ExportFormat! = XLSX
      }

      extend type Mutation {
        """
        Starts an export of products to a file. Poll \`exportJob\` until its status is \`completed\`, then get the
        address of the file with \`GET /exports/<id>/download\`. Both need \`exports.read\`.
        """
        createDataExportFromTemplate(
          """
          The products, the template and the format of the file.
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
                const { query, queryValues } = input;
                if (query == null) return startNamed(client, input);
                const { matches } = underPath("input", () => search(query, queryValues));
                return exportFoundProducts(client, input, {
                  from: products.from as SQL,
                  matches,
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

function refusal(message: string, path: readonly string[]): PublicError {
  return badUserInput(message, { path: ["input", ...path] });
}

async function startNamed(client: PgClient, input: Input): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>({
    text: "select id from create_data_export_from_template(jsonb_populate_record(null::data_export_input, $1::jsonb))",
    values: [productExportJson(input)],
  });
  return rows[0]?.id ?? null;
}
