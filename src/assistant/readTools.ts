import { z } from "zod";
import { searchCampaigns } from "./campaignTool.ts";
import type { ReadTool } from "./readTool.ts";

const queryLanguage =
  "In the service's query language: `field:value`, comparisons such as `vintage:>=2015` and `prices.amount:<40`, ranges `[a TO b]`, `IN(a, b)`, `field:*` for is set, `-` before what must not be, `AND`, `OR`, parentheses; bare words are looked for in the main texts. search_fields tells which fields there are. Left out, everything.";

const page = z.object({
  query: z.string().max(2_000).optional().describe(queryLanguage),
  first: z.int().min(1).max(50).default(20).describe("How many, 1 to 50."),
  after: z.string().max(500).optional().describe("The cursor `endCursor` of the page before."),
  orderBy: z
    .array(z.string().max(100))
    .max(3)
    .optional()
    .describe("Orders such as CREATED_AT_DESC; the list's own when left out."),
});

const id = (of: string) => z.object({ id: z.string().max(100).describe(`The id of ${of}.`) });

/** A query for one page of a connection. */
function list(field: string, type: string, selection: string): string {
  return `query AssistantList($query: String, $first: Int!, $after: Cursor, $orderBy: [${type}OrderBy!]) {
  ${field}(query: $query, first: $first, after: $after, orderBy: $orderBy, includeTotalCount: true) {
    totalCount
    pageInfo { hasNextPage endCursor }
    nodes { ${selection} }
  }
}`;
}

const product =
  "id erpProductNumber name producer vintage country region grapeVariety stockQuantity isActive wineType { name } prices { type currency amount }";
const order =
  "id erpOrderNumber placedAt status customerName erpCustomerNumber currency totalAmount hasImportMappingIssue hasImportDataIssue note";
const campaign = "id title status medium scheduledAt price vintage color note productId";

/** The read-only tools. A caller without permission gets the same error as in the API. */
export const readTools: Readonly<Record<string, ReadTool>> = {
  search_products: {
    description:
      "Finds products (wines): number, name, producer, vintage, country, region, grape, stock, type and prices. `campaigns.scheduledAt` and other fields of their campaigns can be asked in the query.",
    input: page,
    operation: list("products", "Product", product),
  },
  get_product: {
    description: "Shows one product whole, with its description and campaigns.",
    input: id("the product"),
    operation: `query AssistantProduct($id: ID!) {
  product(id: $id) { ${product} description alcoholPercent bottleSizeMl campaigns(first: 50) { nodes { ${campaign} } } }
}`,
  },
  search_orders: {
    description:
      "Finds orders: number, date, status, customer, amount, note, and whether parts of them could not be understood at the import.",
    input: page,
    operation: list("orders", "Order", order),
  },
  get_order: {
    description: "Shows one order with its lines and what of it could not be understood.",
    input: id("the order"),
    operation: `query AssistantOrder($id: ID!) {
  order(id: $id) {
    ${order} netAmount vatAmount salesperson customerReference requestedDeliveryDate
    lines { lineNumber description erpProductNumber erpProductGroup quantity unitPrice amount }
    importIssues { code key message value }
  }
}`,
  },
  search_campaigns: searchCampaigns,
  search_customers: {
    description: "Finds customers: number, name, place, whether they are blocked.",
    input: page,
    operation: list("customers", "Customer", "id erpCustomerNumber name city country isBlocked"),
  },
  list_import_issues: {
    description:
      "Shows why orders are stuck at the import from the ERP, grouped by cause, with sample orders and the mapping rule that would clear each group. MAPPING issues wait for a mapping rule, DATA issues for a correction in the ERP.",
    input: z.object({
      kind: z.enum(["MAPPING", "DATA"]).default("MAPPING"),
      limit: z.int().min(1).max(50).default(20),
    }),
    operation: `query AssistantImportIssues($kind: OrderImportIssueKind!, $limit: Int!) {
  erpOrderHealth { ordersWithMappingIssues ordersWithDataIssues }
  erpOrderImportIssues(kind: $kind, limit: $limit) {
    code key title sampleMessage sampleValue orderCount occurrences firstSeenAt lastSeenAt
    sampleOrders { id erpOrderNumber }
    suggestedRule { code key target }
  }
}`,
  },
  list_mapping_targets: {
    description:
      "Shows what a mapping rule may give as its target for an issue's code, and which rules there are for it.",
    input: z.object({
      code: z.string().max(100).describe("The code of the issues, such as line_kind.unmapped."),
    }),
    variables: ({ code }) => ({ query: `code:${JSON.stringify(String(code))}` }),
    operation: `query AssistantTargets($query: String!) {
  erpMappingTargets { code value title }
  erpMappingRules(query: $query, first: 50) { nodes { id code key target isIgnored } }
}`,
  },
  list_exports: {
    description: "Shows the user's own exports, newest first, with their state.",
    input: z.object({ first: z.int().min(1).max(50).default(10) }),
    operation: `query AssistantExports($first: Int!) {
  exportJobs(first: $first) { nodes { id source status totalRows exportedRows createdAt errorMessage } }
}`,
  },
  list_export_templates: {
    description:
      "Shows the templates that exports of products can be made with. A FORM takes exactly one product, a TABLE one or several.",
    input: z.object({}),
    operation: `query AssistantTemplates {
  exportTemplates(query: "entity:products") { id name kind description }
}`,
  },
  search_fields: {
    description:
      "Tells which fields the `query` of a list understands, with their kinds and operators.",
    input: z.object({
      type: z.string().max(100).describe("The list, such as products, orders or customers."),
    }),
    operation: `query AssistantFields($type: String!) {
  searchFields(type: $type) { name kind operators values isToMany description }
}`,
  },
};
