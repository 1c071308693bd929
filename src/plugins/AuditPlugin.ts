import {
  type FieldArgs,
  type ObjectStep,
  type Step,
  access,
  lambda,
  object,
} from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import type { PgClient } from "postgraphile/@dataplan/pg";
import { maxTotal, readFilter } from "../audit/auditFilter.ts";
import type { Filter } from "../audit/auditFilter.ts";
import type { BindNth } from "../query/bind.ts";
import { resource } from "../schema/resource.ts";
import type { SqlJsonField, Members } from "../sqlJson/sqlJsonField.ts";

type Applied = ReturnType<typeof readFilter>;
type FilteredStep = ObjectStep<{ filter: Step<Applied> }>;

/** How the SQL-JSON path reads a page of the audit log. */
export const SqlJsonAuditPlugin: GraphileConfig.Plugin = {
  name: "SqlJsonAuditPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, build, { scope }) {
        if (!scope.isRootQuery || scope.fieldName !== "auditLogs") return field;
        const sqlJson: SqlJsonField = {
          kind: "rootObject",
          values({ input }) {
            const filter = readFilter(input as Filter | null);
            const { limit, offset } = filter;
            const given = filtersOf(build.dataplanPg.TYPES).map(
              ([, field]) => filter[field] ?? null,
            );
            return [limit, offset, ...given];
          },
          members: (bind) => pageMembers(build, bind),
        };
        return {
          ...field,
          extensions: { ...field.extensions, sqlJson } as typeof field.extensions,
        };
      },
    },
  },
};

/** Without `totalIsExact`: Grafast counts once for it and the total. */
function pageMembers({ sql, dataplanPg }: GraphileBuild.Build, bind: BindNth): Members {
  const [limit, offset] = [sql`${bind(0)}::integer`, sql`${bind(1)}::integer`];
  const given = filtersOf(dataplanPg.TYPES).map(
    ([, , codec], n) => sql`${bind(n + 2)}::${codec.sqlType}`,
  );
  const conditions = sql.join(given, ", ");
  const [most, more] = [sql.literal(maxTotal), sql.literal(maxTotal + 1)];
  return {
    items: { from: sql`search_audit_log(${conditions}, ${limit}, ${offset})` },
    total: { text: sql`least(count_audit_log(${conditions}, ${more}), ${most})::text` },
    limit: { text: sql`(${limit})::text` },
    offset: { text: sql`(${offset})::text` },
  };
}

function filtersOf({ uuid, text, timestamptz }: GraphileBuild.Build["dataplanPg"]["TYPES"]) {
  return [
    ["actor_user_id", "actorUserId", uuid],
    ["entity_type", "entityType", text],
    ["entity_id", "entityId", text],
    ["operation", "operation", text],
    ["correlation_id", "correlationId", text],
    ["from", "from", timestamptz],
    ["to", "to", timestamptz],
  ] as const;
}

/** The audit log as a filtered list; the read is audited as well. */
export const AuditPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const search = resource(build, "search_audit_log");
  const { executor } = search;
  const { loadOneWithPgClient, TYPES } = build.dataplanPg;
  const filters = filtersOf(TYPES);

  /** Counts one row more than the limit, to know whether there are more. */
  const count = async (pgClient: PgClient, wanted: readonly Applied[]) =>
    Promise.all(
      wanted.map(async (filter) => {
        const { rows } = await pgClient.query<{ count: number }>({
          text: "select count_audit_log($1, $2, $3, $4, $5, $6, $7, $8) as count",
          values: [...filters.map(([, field]) => filter[field] ?? null), maxTotal + 1],
        });
        return rows[0]?.count ?? 0;
      }),
    );
  const counted = ($result: FilteredStep): Step<number> =>
    loadOneWithPgClient(executor, $result.get("filter"), count);

  return {
    typeDefs: gql`
      """
      The filters for rows of the audit log. Rows must match all given filters.
      """
      input AuditLogQueryInput {
        """
        The user who acted.
        """
        actorUserId: ID
        """
        The type of the entity, such as \`User\`.
        """
        entityType: String
        """
        The id of the entity.
        """
        entityId: String
        """
        One of \`CREATE\`, \`READ\`, \`UPDATE\`, \`DELETE\`.
        """
        operation: String
        """
        The \`X-Correlation-Id\` of the request that caused the entry.
        """
        correlationId: String
        """
        The start of the period, inclusive.
        """
        from: DateTime
        """
        The end of the period, exclusive.
        """
        to: DateTime
        """
        The maximum number of rows, at least 1. Values above 200 are reduced to 200.
        """
        limit: Int = 50
        """
        The number of rows to skip.
        """
        offset: Int = 0
      }

      """
      A page of the audit log, newest first.
      """
      type AuditLogResult {
        """
        The rows of this page.
        """
        items: [AuditLog!]!
        """
        The number of matching rows. Counting stops at 50,000: if there are more, \`total\` is 50000 and
        \`totalIsExact\` is false.
        """
        total: Int!
        """
        Whether \`total\` is the number of all matching rows. To get rows beyond the first
        50,000, narrow the period with \`to\`.
        """
        totalIsExact: Boolean!
        """
        The limit that was applied.
        """
        limit: Int!
        """
        The number of skipped rows.
        """
        offset: Int!
      }

      extend type Query {
        """
        The audit log, newest first. Reading it is recorded as well.
        """
        auditLogs(
          """
          The filters; all rows by default.
          """
          input: AuditLogQueryInput
        ): AuditLogResult! @scope(guard: "audit.read", auditReads: "AuditLog")
      }
    `,
    objects: {
      Query: {
        plans: {
          auditLogs(_$root: Step, args: FieldArgs) {
            const $input = args.getRaw("input") as Step<Filter | null | undefined>;
            return object({ filter: lambda($input, readFilter) });
          },
        },
      },
      AuditLogResult: {
        plans: {
          items($result: FilteredStep) {
            const $filter = $result.get("filter");
            const given = filters.map(([name, field, pgCodec]) => ({
              name,
              pgCodec,
              step: lambda($filter, (filter) => filter[field] ?? null),
            }));
            const paging = (["limit", "offset"] as const).map((name) => ({
              name,
              pgCodec: TYPES.int,
              step: access($filter, name),
            }));
            return search.execute([...given, ...paging] as never);
          },
          total: ($result: FilteredStep) =>
            lambda(counted($result), (count) => Math.min(count, maxTotal)),
          totalIsExact: ($result: FilteredStep) =>
            lambda(counted($result), (count) => count <= maxTotal),
          limit: ($result: FilteredStep) => access($result.get("filter"), "limit"),
          offset: ($result: FilteredStep) => access($result.get("filter"), "offset"),
        },
      },
    },
  };
}, "AuditPlugin");
