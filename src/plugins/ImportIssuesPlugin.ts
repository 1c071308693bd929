import { type FieldArgs, type Step, access, object } from "postgraphile/grafast";
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
      The open import issues of one cause, told by \`code\` and \`key\` together.
      """
      type OrderImportIssueGroup {
        """
        What is wrong, such as \`line_kind.unmapped\`.
        """
        code: String!
        """
        What it is wrong with, such as a product group.
        """
        key: String!
        """
        The cause in words.
        """
        title: String!
        """
        How many orders have it.
        """
        orderCount: Int!
        """
        In how many places of those orders it was met.
        """
        occurrences: Int!
        """
        When an import first met it.
        """
        firstSeenAt: DateTime!
        """
        When an import last met it.
        """
        lastSeenAt: DateTime!
        """
        The problem in words, as the order placed last has it.
        """
        sampleMessage: String!
        """
        The value as the ERP has it, in the order placed last.
        """
        sampleValue: String
        """
        Up to ten of the orders, those placed last first. Without \`orders.read\` their \`id\`, \`erpOrderNumber\`, \`placedAt\`, \`status\` and
        import issues only; all else is null.
        """
        sampleOrders: [Order!]! @scope(summary: "importIssues importIssueHistory")
        """
        The mapping rule that would clear the group; null for DATA, which only the ERP can clear.
        """
        suggestedRule: SuggestedErpMappingRule
        """
        The mapping rule that clears the group when its orders are next imported; null where there is none.
        """
        waitingRule: ErpMappingRule
      }

      """
      What \`createErpMappingRule\` would be given to clear a group.
      """
      type SuggestedErpMappingRule {
        """
        The group's code.
        """
        code: String!
        """
        The group's key.
        """
        key: String!
        """
        The known target that resembles the key most; null where none is near enough to be worth proposing.
        """
        target: String
        """
        How near it is, from 0 to 1.
        """
        similarity: Float
      }

      extend type Query {
        """
        What could not be understood of orders from the ERP, grouped by cause: the causes of most orders first. Superseded orders are
        left out.
        """
        erpOrderImportIssues(
          """
          Which kind of issues.
          """
          kind: OrderImportIssueKind = MAPPING
          """
          How many groups at most, 1 to 200.
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
          sampleOrders: ($group: Step) =>
            samples.execute([{ step: access($group, "sampleOrderIds"), pgCodec: listOfIds }]),
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
