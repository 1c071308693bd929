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
import { countedAtMost, readFilter } from "./auditFilter.ts";
import type { Filter } from "./auditFilter.ts";
import { resource } from "./resource.ts";

type Applied = ReturnType<typeof readFilter>;
type FilteredStep = ObjectStep<{ filter: Step<Applied> }>;

/** The audit log as a list with filters; the read is itself recorded, like every read of an audited type. */
export const AuditPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const search = resource(build, "search_audit_log");
  const { executor } = search;
  const { loadOneWithPgClient, TYPES } = build.dataplanPg;
  const filters = [
    ["actor_user_id", "actorUserId", TYPES.uuid],
    ["entity_type", "entityType", TYPES.text],
    ["entity_id", "entityId", TYPES.text],
    ["operation", "operation", TYPES.text],
    ["correlation_id", "correlationId", TYPES.text],
    ["from", "from", TYPES.timestamptz],
    ["to", "to", TYPES.timestamptz],
  ] as const;

  /** One more than is told, to know whether there are more. */
  const count = async (pgClient: PgClient, wanted: readonly Applied[]) =>
    Promise.all(
      wanted.map(async (filter) => {
        const { rows } = await pgClient.query<{ count: number }>({
          text: "select count_audit_log($1, $2, $3, $4, $5, $6, $7, $8) as count",
          values: [
            ...filters.map(([, field]) => filter[field] ?? null),
            countedAtMost + 1,
          ] as never,
        });
        return rows[0]?.count ?? 0;
      }),
    );
  const counted = ($result: FilteredStep): Step<number> =>
    loadOneWithPgClient(executor, $result.get("filter"), count);

  return {
    typeDefs: gql`
      """
      Which rows of the audit log are wanted; all that is given must hold.
      """
      input AuditLogQueryInput {
        """
        Who did it.
        """
        actorUserId: ID
        """
        The kind of thing, such as \`User\`.
        """
        entityType: String
        """
        Which one.
        """
        entityId: String
        """
        One of \`CREATE\`, \`READ\`, \`UPDATE\`, \`DELETE\`.
        """
        operation: String
        """
        The request that caused it.
        """
        correlationId: String
        """
        Not before this time.
        """
        from: DateTime
        """
        Before this time, which itself is left out.
        """
        to: DateTime
        """
        How many, at least 1; more than 200 become 200.
        """
        limit: Int = 50
        """
        How many to skip.
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
        How many rows match. Counting ends at 50,000: where there are more, this is 50000 and \`totalIsExact\` is false.
        """
        total: Int!
        """
        Whether \`total\` is the number of all rows that match. To see what lies beyond it, narrow the time by \`to\`.
        """
        totalIsExact: Boolean!
        """
        The limit that was applied.
        """
        limit: Int!
        """
        How many rows were skipped.
        """
        offset: Int!
      }

      extend type Query {
        """
        What was done and read, newest first. The read is itself recorded.
        """
        auditLogs(
          """
          Which rows are wanted; all of them by default.
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
            lambda(counted($result), (count) => Math.min(count, countedAtMost)),
          totalIsExact: ($result: FilteredStep) =>
            lambda(counted($result), (count) => count <= countedAtMost),
          limit: ($result: FilteredStep) => access($result.get("filter"), "limit"),
          offset: ($result: FilteredStep) => access($result.get("filter"), "offset"),
        },
      },
    },
  };
}, "AuditPlugin");
