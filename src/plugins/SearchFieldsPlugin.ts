import type { FieldArgs, Step } from "postgraphile/grafast";
import { context, lambda } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import { listFields } from "../query/searchTable.ts";
import { hasBeginnings, isOrdered } from "../query/conditions.ts";
import { listedTables, tableGuard, tableNamed } from "../schema/listedTables.ts";
import { type Guard, checkGuard } from "../auth/guards.ts";

interface Searchable {
  guard: Guard;
  fields: Field[];
}

/** A field as the API returns it. */
interface Field {
  name: string;
  kind: string;
  operators: string[];
  isWordField: boolean;
  values: string[];
  isList: boolean;
  isToMany: boolean;
  description: string | null;
}

const ordered = [">", ">=", "<", "<=", "[TO]", "{TO}"];

/** The fields and operators of each `query` argument as data, for filter bars and completion. */
export const SearchFieldsPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const tables = searchableTables(build);
  return {
    typeDefs: gql`
      """
      The kind of a searchable field, which determines how its values are parsed and compared.
      """
      enum SearchFieldKind {
        """
        Text, compared without regard to case and accents.
        """
        TEXT
        """
        Text, compared byte for byte.
        """
        EXACT
        """
        A whole number of 32 bits.
        """
        INTEGER
        """
        A whole number of 64 bits.
        """
        BIGINT
        """
        A decimal number.
        """
        DECIMAL
        """
        A floating-point number.
        """
        FLOAT
        """
        \`true\` or \`false\`.
        """
        BOOLEAN
        """
        An id.
        """
        ID
        """
        A point in time.
        """
        INSTANT
        """
        A calendar date.
        """
        DATE
        """
        One of the field's \`values\`.
        """
        ENUM
      }

      """
      A field that the \`query\` argument of a connection can search.
      """
      type SearchField {
        """
        The name of the field in a query. Fields of related rows are joined by dots.
        """
        name: String!
        """
        The kind of the field, which determines how its values are parsed and compared.
        """
        kind: SearchFieldKind!
        """
        The available operators: \`:\` (is), \`IN\`, \`*\` (is set), \`word*\` (begins with), comparisons, and ranges:
        \`[TO]\` including its ends, \`{TO}\` excluding them.
        """
        operators: [String!]!
        """
        Whether words without a field name are searched in this field.
        """
        isWordField: Boolean!
        """
        The values of an enumeration.
        """
        values: [String!]!
        """
        Whether the field holds a list of such values. A condition is met if one of them matches.
        """
        isList: Boolean!
        """
        Whether the field can belong to several related rows. Conditions that one row must meet are grouped:
        \`ratings:(points:>90 year:2020)\`.
        """
        isToMany: Boolean!
        """
        The meaning of the field.
        """
        description: String
      }

      extend type Query {
        """
        The fields and operators available in the \`query\` argument of a connection, for filter bars and completion.
        Needs the permission to read the connection.
        """
        searchFields(
          """
          The name of the connection, such as \`products\`.
          """
          type: String!
        ): [SearchField!]! @scope(guard: "principal")
      }
    `,
    objects: {
      Query: {
        plans: {
          searchFields(_$root: Step, args: FieldArgs) {
            const $type = args.getRaw("type") as Step<string>;
            return lambda([$type, context().get("requestContext")], ([type, requestContext]) => {
              const table = tableNamed(tables, type, "type");
              checkGuard(table.guard, requestContext);
              return table.fields;
            });
          },
        },
      },
    },
  };
}, "SearchFieldsPlugin");

function searchableTables(build: GraphileBuild.Build): Map<string, Searchable> {
  return new Map(
    [...listedTables(build)].map(([name, resource]) => [
      name,
      {
        guard: tableGuard(resource),
        fields: listFields(build.searchTable(resource)).map(({ name, field, toMany }) => ({
          name,
          kind: field.kind.toUpperCase(),
          operators: [
            ":",
            "IN",
            "*",
            ...(isOrdered(field.kind) ? ordered : []),
            ...(hasBeginnings(field.kind) ? ["word*"] : []),
          ],
          isWordField: field.word && !name.includes("."),
          values: [...(field.values?.keys() ?? [])],
          isList: field.list,
          isToMany: toMany,
          description: field.description ?? null,
        })),
      },
    ]),
  );
}
