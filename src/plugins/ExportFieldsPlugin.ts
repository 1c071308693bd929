import { type FieldArgs, type Step, lambda } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import { badUserInput } from "../errors/PublicError.ts";
import { type ListColumn, exportedColumns } from "../schema/exportedColumns.ts";
import { makeExportedTable, productsEntity } from "../schema/exportedTables.ts";
import { resource } from "../schema/resource.ts";

/**
 * The fields that templates of a list can show, except those of products.
 * @throws PublicError for an unknown list, with the nearest names
 */
export type ExportedFields = (entity: string) => readonly ListColumn[];

declare module "graphql" {
  interface GraphQLSchemaExtensions {
    /** For routes outside GraphQL. */
    exportedFields?: ExportedFields;
  }
}

function makeExportedFields(build: GraphileBuild.Build): ExportedFields {
  const tableOf = makeExportedTable(build);
  return (entity) => {
    const table = tableOf(entity);
    if (entity === productsEntity)
      throw badUserInput("entity: `exportFields` lists the fields of products", {
        path: ["entity"],
      });
    return exportedColumns(build, table);
  };
}

/** Adds the fields of templates to the schema's extensions. */
export const ExportedFieldsPlugin: GraphileConfig.Plugin = {
  name: "ExportedFieldsPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      GraphQLSchema: (config, build) => ({
        ...config,
        extensions: { ...config.extensions, exportedFields: makeExportedFields(build) },
      }),
    },
  },
};

/** The fields of templates as a query. */
export const ExportFieldsPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const rows = resource(build, "list_export_fields");
  const fieldsOf = makeExportedFields(build);
  return {
    typeDefs: gql`
      extend type Query {
        """
        The fields available in templates of a list: the fields of its rows and of related rows, such as
        \`customer.name\`. For products, use \`exportFields\`.
        """
        listExportFields(
          """
          The name of the list, such as \`orders\` or \`auditLogs\`.
          """
          entity: String!
        ): [ExportField!]! @scope(guard: "exports.read")
      }
    `,
    objects: {
      Query: {
        plans: {
          listExportFields(_$root: Step, args: FieldArgs) {
            const $fields = lambda(args.getRaw("entity") as Step<string>, (entity) =>
              fieldsOf(entity),
            );
            const { jsonb } = build.dataplanPg.TYPES;
            return rows.execute([{ name: "fields", pgCodec: jsonb, step: $fields }] as never);
          },
        },
      },
    },
  };
}, "ExportFieldsPlugin");
