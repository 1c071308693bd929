import { z } from "zod";
import type { Operations } from "./operations.ts";
import type { RequestInfo } from "../auth/identity.ts";

/** Look-ups for the description of a change, with the proposer's permissions. */
export interface DescriptionContext {
  requestContext: RequestInfo;
  operations: Operations;
}

/** A tool that changes data: one GraphQL mutation, run after the user's approval. */
export interface WriteTool {
  description: string;
  input: z.ZodObject;
  operation: string;
  variables(input: Record<string, unknown>, facts: DescriptionContext): Record<string, unknown>;
  /** Describes the change in a sentence that contains all of `variables`. */
  summary(variables: Record<string, unknown>, facts: DescriptionContext): Promise<string>;
}

const media = ["EMAIL", "SMS", "SOCIAL", "WEB", "PRINT", "EVENT", "OTHER"] as const;
const statuses = ["DRAFT", "SCHEDULED", "ACTIVE", "PAUSED", "COMPLETED", "CANCELLED"] as const;
const approved = "The user is asked to approve it first; it is done only then.";

const campaignFields = {
  title: z.string().max(500).describe("Its title."),
  price: z.string().max(64).describe("The price as it is advertised, free text."),
  medium: z.enum(media).describe("Where it runs."),
  scheduledAt: z.string().max(40).describe("When it starts: ISO 8601 with a time zone."),
  productId: z.string().max(100).nullish().describe("The id of the product that it is for."),
  status: z.enum(statuses).optional().describe("DRAFT when left out."),
  vintage: z.int().nullish(),
  color: z.string().max(7).nullish().describe("#RRGGBB."),
  note: z.string().max(5_000).nullish().describe("For colleagues."),
  authorUserId: z
    .string()
    .max(100)
    .optional()
    .describe("Who is responsible: the user when left out."),
};
const { title, price, medium, scheduledAt, ...optionalFields } = campaignFields;
const allOptional = {
  title: title.optional(),
  price: price.optional(),
  medium: medium.optional(),
  scheduledAt: scheduledAt.optional(),
  ...optionalFields,
};

const shownCampaign = "id title status medium scheduledAt price productId";

interface ExportInput {
  templateId: string;
  productIds?: string[];
  query?: string;
  format?: string;
}

/** The tools that propose changes. Each requires its mutation's permission when proposed and when run. */
export const writeTools: Readonly<Record<string, WriteTool>> = {
  create_campaign: {
    description: `Puts a campaign on the calendar. ${approved}`,
    input: z.object(campaignFields),
    operation: `mutation AssistantCreateCampaign($input: CreateCampaignInput!) {
  createCampaign(input: $input) { ${shownCampaign} }
}`,
    variables: (input, { requestContext }) => ({
      input: { ...input, authorUserId: input["authorUserId"] ?? requestContext.identity?.userId },
    }),
    summary: async ({ input }, facts) => `Create a campaign with ${await describe(input, facts)}.`,
  },
  update_campaign: {
    description: `Changes a campaign: what is left out stays as it is. ${approved}`,
    input: z
      .object({ id: z.string().max(100).describe("The campaign's id."), ...allOptional })
      .refine((given) => Object.keys(given).length > 1, "must say what is to be changed"),
    operation: `mutation AssistantUpdateCampaign($id: ID!, $input: UpdateCampaignInput!) {
  updateCampaign(id: $id, input: $input) { ${shownCampaign} }
}`,
    variables: ({ id, ...input }) => ({ id, input }),
    async summary({ id, input }, facts) {
      const was = await lookUp(
        facts,
        "query AssistantCampaign($id: ID!) { campaign(id: $id) { title status } }",
        { id },
        "campaign",
      );
      const which = was
        ? `${quote(was["title"])} (${String(was["status"])}, id ${quote(id)})`
        : `with the id ${quote(id)}`;
      return `Change the campaign ${which}: set ${await describe(input, facts)}.`;
    },
  },
  start_export: {
    description: `Starts an export of products to a file, with either productIds or query. ${approved}`,
    input: z
      .object({
        templateId: z.string().max(100).describe("The id of the template."),
        productIds: z
          .array(z.string().max(100))
          .min(1)
          .max(500)
          .optional()
          .describe("Ids of the products."),
        query: z
          .string()
          .min(1)
          .max(2_000)
          .optional()
          .describe(
            "A search as for products: exports all that match. id:* matches every product.",
          ),
        format: z
          .enum(["XLSX", "CSV", "JSONL"])
          .optional()
          .describe("XLSX when left out; a FORM and a workbook take no other."),
      })
      .refine(
        ({ productIds, query }) => (productIds === undefined) !== (query === undefined),
        "must have either productIds or query",
      ),
    operation: `mutation AssistantStartExport($input: CreateDataExportFromTemplateInput!) {
  createDataExportFromTemplate(input: $input) { id source status totalRows }
}`,
    variables: (input) => ({ input }),
    async summary({ input }, facts) {
      const { templateId, productIds, query, format } = input as ExportInput;
      const template = await lookUp(
        facts,
        "query AssistantTemplate($id: ID!) { exportTemplate(id: $id) { name } }",
        { id: templateId },
        "exportTemplate",
      );
      const name = template ? quote(template["name"]) : `with the id ${quote(templateId)}`;
      const as = format === undefined ? "" : ` as ${format}`;
      return productIds === undefined
        ? `Start an export${as} of all products that match ${quote(query)} with the template ${name}.`
        : `Start an export${as} of ${count(productIds, "product")} with the template ${name}: ${productIds.map(quote).join(", ")}.`;
    },
  },
  trigger_product_sync: {
    description: `Starts the synchronisation of products with the ERP. ${approved}`,
    input: z
      .object({
        erpProductNumbers: z.array(z.string().max(100)).max(1_000).optional(),
        productIds: z.array(z.string().max(100)).max(1_000).optional(),
      })
      .refine(
        ({ erpProductNumbers = [], productIds = [] }) =>
          erpProductNumbers.length + productIds.length > 0,
        "must name at least one product",
      ),
    operation: `mutation AssistantProductSync($input: TriggerProductSyncInput!) {
  triggerProductSync(input: $input) { accepted acceptedCount requestedCount message }
}`,
    variables: (input) => ({ input }),
    summary: ({ input }) => {
      const { erpProductNumbers = [], productIds = [] } = input as Record<string, string[]>;
      const all = [
        ...erpProductNumbers.map((number) => `number ${quote(number)}`),
        ...productIds.map((id) => `id ${quote(id)}`),
      ];
      return Promise.resolve(
        `Synchronise ${count(all, "product")} with the ERP: ${all.join(", ")}.`,
      );
    },
  },
  add_mapping_rule: {
    description: `Adds a rule that says what one of the ERP's codes means, so that stuck orders can be imported. ${approved}`,
    input: z.object({
      code: z.string().max(100).describe("The code of the issues, such as line_kind.unmapped."),
      key: z.string().max(500).describe("The ERP's value, byte for byte."),
      target: z.string().max(200).nullish().describe("What it means: one of list_mapping_targets."),
      isIgnored: z.boolean().optional().describe("True when it means nothing here."),
      note: z.string().max(1_000).nullish().describe("Why, for colleagues."),
    }),
    operation: `mutation AssistantMappingRule($input: CreateErpMappingRuleInput!) {
  createErpMappingRule(input: $input) { id code key target isIgnored }
}`,
    variables: (input) => ({ input }),
    summary: ({ input }) => {
      const { code, key, target, isIgnored, note } = input as Record<string, unknown>;
      const meaning =
        isIgnored === true ? "means nothing here and is ignored" : `means ${quote(target)}`;
      const why = note == null ? "" : ` Note: ${quote(note)}.`;
      return Promise.resolve(
        `Add the mapping rule that, of ${quote(code)}, the ERP's value ${quote(key)} ${meaning}.${why}`,
      );
    },
  },
};

/** Fields with their values; ids of products and users with their names, as far as the caller may see them. */
async function describe(input: unknown, facts: DescriptionContext): Promise<string> {
  const descriptions = await Promise.all(
    Object.entries(input as Record<string, unknown>).map(async ([field, value]) => {
      if (value === null) return `no ${field}`;
      if (field === "productId" && typeof value === "string") {
        const product = await lookUp(
          facts,
          "query AssistantName($id: ID!) { product(id: $id) { name erpProductNumber } }",
          { id: value },
          "product",
        );
        const name = product
          ? ` (${quote(product["name"])}, number ${quote(product["erpProductNumber"])})`
          : "";
        return `productId ${quote(value)}${name}`;
      }
      if (field === "authorUserId" && value === facts.requestContext.identity?.userId)
        return "yourself as the one responsible";
      if (field === "authorUserId" && typeof value === "string") {
        const user = await lookUp(
          facts,
          "query AssistantUser($id: ID!) { user(id: $id) { name email } }",
          { id: value },
          "user",
        );
        const name = user ? ` (${quote(user["name"] ?? user["email"])})` : "";
        return `authorUserId ${quote(value)}${name}`;
      }
      return `${field} ${typeof value === "string" ? quote(value) : JSON.stringify(value)}`;
    }),
  );
  return descriptions.join(", ");
}

async function lookUp(
  { requestContext, operations }: DescriptionContext,
  source: string,
  variables: object,
  field: string,
): Promise<Record<string, unknown> | null> {
  const { data } = await operations.run(requestContext, source, variables);
  return (data?.[field] as Record<string, unknown> | null | undefined) ?? null;
}

/** Letters that show nothing, and braille without dots. */
const blank = /[\u115F\u1160\u2800\u3164\uFFA0]/gu;
/** What looks like the marks around a quotation. */
const doubleQuotes = /[\u02BA\u201C-\u201F\u2033\u275D\u275E\u301D-\u301F\uFF02]/gu;

/** A string in a sentence: quoted and on one line, without marks that would seem to end the quotation. */
function quote(value: unknown): string {
  return `“${String(value)
    .replace(blank, " ")
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .replace(doubleQuotes, '"')}”`;
}

function count(items: readonly string[], noun: string): string {
  return `${items.length} ${noun}${items.length === 1 ? "" : "s"}`;
}
