import type { FieldArgs, Step } from "postgraphile/grafast";
import { context, lambda } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import { listFields } from "../query/catalogue.ts";
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
      How the values of a searchable field are read and compared.
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
        A day.
        """
        DATE
        """
        One of the field's \`values\`.
        """
        ENUM
      }

      """
      A field that the \`query\` argument of a connection can ask for.
      """
      type SearchField {
        """
        As it is written in a query; fields of related rows by dots.
        """
        name: String!
        """
        How its values are read and compared.
        """
        kind: SearchFieldKind!
        """
        What can be asked: \`:\` (is), \`IN\`, \`*\` (is set), \`word*\` (begins with), comparisons and ranges: \`[TO]\` with its ends,
        \`{TO}\` without them.
        """
        operators: [String!]!
        """
        Whether words without a field are searched in this one.
        """
        isWordField: Boolean!
        """
        Of an enumeration, its values.
        """
        values: [String!]!
        """
        Whether it holds a list of such values; what is asked holds for one of them.
        """
        isList: Boolean!
        """
        Whether several related rows can be behind it. Conditions that one row must meet are grouped: \`ratings:(points:>90 year:2020)\`.
        """
        isToMany: Boolean!
        """
        What it means.
        """
        description: String
      }

      extend type Query {
        """
        What the \`query\` argument of a connection can ask, for filter bars and completion. Asks for the permission to read the
        connection.
        """
        searchFields(
          """
          The connection's name, such as \`products\`.
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
