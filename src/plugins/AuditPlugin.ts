import {
  type FieldArgs,
  type ObjectStep,
  type Step,
  access,
  lambda,
  object,
} from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import { OfficeError } from "../errors.ts";
import { resource } from "./resource.ts";

const operations = ["CREATE", "READ", "UPDATE", "DELETE"];
const limitCap = 200;
const limitDefault = 50;

/** `total` counts so many rows at most: counting costs time for each, and nobody pages through more. */
export const countedAtMost = 100_000;

interface Filter {
  actorUserId?: string | null;
  entityType?: string | null;
  entityId?: string | null;
  operation?: string | null;
  correlationId?: string | null;
  from?: string | null;
  to?: string | null;
  limit?: number | null;
  offset?: number | null;
}

type Applied = ReturnType<typeof readFilter>;
type FilteredStep = ObjectStep<{ filter: Step<Applied> }>;

/** Checks the input of `auditLogs` and fills its defaults; a limit above the cap becomes the cap. @throws OfficeError */
export function readFilter(input: Filter | null | undefined) {
  const filter = input ?? {};
  const refuse = (field: keyof Filter, message: string) => {
    throw new OfficeError("BAD_USER_INPUT", `${field} ${message}`, { path: ["input", field] });
  };
  const limit = filter.limit ?? limitDefault;
  const offset = filter.offset ?? 0;
  if (limit < 1) refuse("limit", "must be at least 1");
  if (offset < 0) refuse("offset", "must not be negative");
  if (filter.operation != null && !operations.includes(filter.operation))
    refuse("operation", `must be one of ${operations.join(", ")}`);
  if (filter.from != null && filter.to != null && filter.from > filter.to)
    refuse("from", "must not be after `to`");
  return { ...filter, limit: Math.min(limit, limitCap), offset };
}

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
        How many rows there are in all.
        """
        total: Int!
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
          total($result: FilteredStep) {
            return loadOneWithPgClient(executor, $result.get("filter"), async (pgClient, wanted) =>
              Promise.all(
                wanted.map(async (filter) => {
                  const { rows } = await pgClient.query<{ total: string }>({
                    text: "select count(*) as total from search_audit_log($1, $2, $3, $4, $5, $6, $7, null, 0)",
                    values: filters.map(([, field]) => filter[field] ?? null) as never,
                  });
                  return Number(rows[0]?.total ?? 0);
                }),
              ),
            );
          },
          limit: ($result: FilteredStep) => access($result.get("filter"), "limit"),
          offset: ($result: FilteredStep) => access($result.get("filter"), "offset"),
        },
      },
    },
  };
}, "AuditPlugin");
