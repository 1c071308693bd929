import type { PgClient } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, object } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import { badUserInput, underPath } from "../errors/PublicError.ts";
import { listColumns } from "../schema/exportedColumns.ts";
import { makeExportedTable, productsEntity } from "../schema/exportedTables.ts";
import { numberFormatProblem } from "../xlsx/numberFormat.ts";
import { resource } from "../schema/resource.ts";

interface Input {
  entity?: string;
  columns?: { field: string; numberFormat?: string | null }[] | null;
}

/** Rejects number formats that Excel does not accept. */
function checkNumberFormats({ columns }: Input): void {
  for (const [index, { numberFormat }] of (columns ?? []).entries()) {
    const problem = numberFormat == null ? null : numberFormatProblem(numberFormat);
    if (problem !== null)
      throw badUserInput(`numberFormat: ${problem}`, {
        path: ["input", "columns", index, "numberFormat"],
      });
  }
}

/** The list that an existing template shows; undefined where there is no such template. */
async function entityOf(client: PgClient, id: string): Promise<string | undefined> {
  const { rows } = await client.query<{ entity: string }>({
    text: "select entity from export_templates where id = $1",
    values: [id],
  });
  return rows[0]?.entity;
}

/** Creates and updates export templates: columns are a list of objects, which function parameters cannot express. */
export const ExportTemplatesPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const templates = resource(build, "export_templates");
  const { sideEffectWithPgClientTransaction } = build.dataplanPg;
  const tableOf = makeExportedTable(build);

  /** Checks the columns of other lists than products, whose fields SQL knows, and adds their titles. */
  const checkColumns = (entity: string | undefined, input: Input): Input =>
    underPath("input", () => {
      if (entity === undefined || entity === productsEntity) return input;
      const table = tableOf(entity);
      const given = input.columns;
      if (given == null) return input;
      const names = given.map(({ field }) => field);
      const known = listColumns(build, table, names, (index) => ["columns", index, "field"]);
      return {
        ...input,
        columns: given.map((one, index) => ({ ...one, defaultTitle: known[index]?.title })),
      };
    });
  const write = (text: string, $input: Step, $id?: Step) => {
    const $wanted = object({ input: $input, ...($id && { id: $id }) }) as Step<{
      input: Input;
      id?: string;
    }>;
    const $written = sideEffectWithPgClientTransaction(
      templates.executor,
      $wanted,
      async (client, { input, id }) => {
        checkNumberFormats(input);
        const entity = id === undefined ? input.entity : await entityOf(client, id);
        const { rows } = await client.query<{ id: string }>({
          text,
          values: [JSON.stringify(checkColumns(entity, input)), ...(id === undefined ? [] : [id])],
        });
        return rows[0]?.id ?? null;
      },
    );
    return templates.get({ id: $written });
  };

  return {
    typeDefs: gql`
      """
      A column of a table, or a line of a form.
      """
      input ExportColumnInput {
        """
        A field that \`listExportFields\` lists. For products, a field that \`exportFields\` lists, or
        \`prices.<type>.<currency>\`.
        """
        field: String!
        """
        The heading of the column; by default the title of the field.
        """
        title: String
        """
        The width in characters, 1 to 255.
        """
        width: Float
        """
        The Excel format of numbers or dates, such as \`0.00\` or \`yyyy-mm-dd\`.
        """
        numberFormat: String
      }

      """
      The values of a new template, which has either columns or an uploaded workbook.
      """
      input CreateExportTemplateInput {
        """
        The name of the template, unique without regard to case.
        """
        name: String!
        """
        The purpose of the template.
        """
        description: String
        """
        The name of the list whose rows the template shows, such as \`orders\`.
        """
        entity: String! = "products"
        """
        Whether the template takes one row or several.
        """
        kind: ExportTemplateKind!
        """
        1 to 200 columns, in their order.
        """
        columns: [ExportColumnInput!]
        """
        A workbook from \`POST /exports/workbooks\`, uploaded for the same list and kind.
        """
        workbookId: ID
      }

      """
      The new values of a template; omitted fields stay unchanged. Columns replace a workbook, and a workbook replaces
      columns.
      """
      input UpdateExportTemplateInput {
        """
        The name of the template, unique without regard to case.
        """
        name: String
        """
        The purpose of the template; null clears it.
        """
        description: String
        """
        All columns, 1 to 200, in their order.
        """
        columns: [ExportColumnInput!]
        """
        A workbook from \`POST /exports/workbooks\`, uploaded for the template's list and kind.
        """
        workbookId: ID
      }

      extend type Mutation {
        """
        Creates an export template.
        """
        createExportTemplate(input: CreateExportTemplateInput!): ExportTemplate!
          @scope(guard: "exporttemplates.update")

        """
        Changes an export template. Waiting exports use the changed template; exports of lists other than products fail
        if the fields of the template have changed.
        """
        updateExportTemplate(
          """
          The id of the template.
          """
          id: ID!
          input: UpdateExportTemplateInput!
        ): ExportTemplate! @scope(guard: "exporttemplates.update")
      }
    `,
    objects: {
      Mutation: {
        plans: {
          createExportTemplate(_$root: Step, args: FieldArgs) {
            return write("select create_export_template($1::jsonb) as id", args.getRaw("input"));
          },
          updateExportTemplate(_$root: Step, args: FieldArgs) {
            return write(
              "select update_export_template($2, $1::jsonb) as id",
              args.getRaw("input"),
              args.getRaw("id"),
            );
          },
        },
      },
    },
  };
}, "ExportTemplatesPlugin");
