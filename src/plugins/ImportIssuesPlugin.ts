import type { PgSelectSingleStep, PgSelectStep } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, access, each, object } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import { resource } from "../schema/resource.ts";

/** A row of `order_import_issue_groups`. */
interface Group {
  kind: string;
  code: string;
  key: string;
  title: string;
  orderCount: number;
  occurrences: number;
  firstSeenAt: string;
  lastSeenAt: string;
  sampleMessage: string;
  sampleValue: string | null;
  sampleOrderIds: string[];
}

/** A row of `suggest_mapping_rules`. */
interface Suggestion {
  code: string;
  key: string;
  target: string | null;
  similarity: number | null;
}

const defaults = { kind: "MAPPING", limit: 50 };

/** The causes of open import issues with sample orders; `order_import_issue_groups` decides what is shown. */
export const ImportIssuesPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const orders = resource(build, "orders");
  const samples = resource(build, "sample_orders");
  const rules = resource(build, "erp_mapping_rules");
  const { loadOneWithPgClient, listOfCodec, TYPES } = build.dataplanPg;
  const listOfIds = listOfCodec(TYPES.uuid);

  return {
    typeDefs: gql`
      """
      The open import issues with one cause, identified by \`code\` and \`key\` together.
      """
      type OrderImportIssueGroup {
        """
        The code of the issues, such as \`line_kind.unmapped\`.
        """
        code: String!
        """
        The subject of the issues, such as a product group.
        """
        key: String!
        """
        The title of the cause.
        """
        title: String!
        """
        The number of orders with the issue.
        """
        orderCount: Int!
        """
        The number of occurrences in these orders.
        """
        occurrences: Int!
        """
        When an import first found the issue.
        """
        firstSeenAt: DateTime!
        """
        When an import last found the issue.
        """
        lastSeenAt: DateTime!
        """
        The message of the issue in the order placed last.
        """
        sampleMessage: String!
        """
        The value in the order placed last, as recorded in the ERP.
        """
        sampleValue: String
        """
        Up to ten of the orders, the latest first. Without \`orders.read\`, only \`id\`, \`erpOrderNumber\`,
        \`placedAt\`, \`status\` and the import issues have values; all other fields are null.
        """
        sampleOrders: [Order!]! @scope(summary: "importIssues importIssueHistory")
        """
        A mapping rule that would clear the group; null for DATA, because only the ERP can supply the data.
        """
        suggestedRule: SuggestedErpMappingRule
        """
        The existing mapping rule that clears the group when its orders are next imported; null if there is none.
        """
        waitingRule: ErpMappingRule
      }

      """
      A suggested input of \`createErpMappingRule\` that clears a group.
      """
      type SuggestedErpMappingRule {
        """
        The code of the group.
        """
        code: String!
        """
        The key of the group.
        """
        key: String!
        """
        The target most similar to the key; null if no target is similar enough.
        """
        target: String
        """
        The similarity of the target to the key, from 0 to 1.
        """
        similarity: Float
      }

      extend type Query {
        """
        The open import issues of orders from the ERP, grouped by cause. Causes with the most orders come first.
        Superseded orders are not included.
        """
        erpOrderImportIssues(
          """
          The kind of the issues.
          """
          kind: OrderImportIssueKind = MAPPING
          """
          The maximum number of groups, 1 to 200.
          """
          limit: Int = 50
        ): [OrderImportIssueGroup!]! @scope(guard: "erpsync.read", auditReads: "Order")
      }
    `,
    objects: {
      Query: {
        plans: {
          erpOrderImportIssues(_$root: Step, args: FieldArgs) {
            const $asked = args.getRaw() as Step<{ kind?: string | null; limit?: number | null }>;
            return loadOneWithPgClient(orders.executor, $asked, (client, all) =>
              Promise.all(
                all.map(async (asked) => {
                  const { rows } = await client.query<Group>({
                    text: `select $1 as kind, code, key, title, order_count as "orderCount", occurrences, first_seen_at as "firstSeenAt",
                        last_seen_at as "lastSeenAt", sample_message as "sampleMessage", sample_value as "sampleValue",
                        sample_order_ids as "sampleOrderIds"
                      from order_import_issue_groups($1, $2)`,
                    values: [asked.kind ?? defaults.kind, asked.limit ?? defaults.limit],
                  });
                  return rows;
                }),
              ),
            );
          },
        },
      },
      OrderImportIssueGroup: {
        plans: {
          sampleOrders($group: Step) {
            const $orders = samples.execute([
              { step: access($group, "sampleOrderIds"), pgCodec: listOfIds },
            ]) as PgSelectStep;
            // A row counts as missing when the first of its required columns is null, and without `orders.read` all but
            // these are.
            return each($orders, ($order) => {
              ($order as PgSelectSingleStep).get("id");
              return $order;
            });
          },
          waitingRule: ($group: Step<Group>) =>
            rules.get({ code: access($group, "code"), key: access($group, "key") }),
          suggestedRule($group: Step<Group>) {
            const $cause = object({
              kind: access($group, "kind"),
              code: access($group, "code"),
              key: access($group, "key"),
            }) as Step<Pick<Group, "kind" | "code" | "key">>;
            return loadOneWithPgClient(orders.executor, $cause, async (client, causes) => {
              const gaps = causes.filter(({ kind }) => kind === "MAPPING");
              const { rows } = await client.query<Suggestion>({
                text: "select code, key, target, similarity from suggest_mapping_rules($1, $2)",
                values: [gaps.map(({ code }) => code), gaps.map(({ key }) => key)],
              });
              return causes.map(
                (cause) =>
                  rows.find(({ code, key }) => code === cause.code && key === cause.key) ?? null,
              );
            });
          },
        },
      },
    },
  };
}, "ImportIssuesPlugin");
