import { z } from "zod";
import type { ReadTool } from "./readTool.ts";

/** Campaigns per request; the API has no search for them. */
const pageSize = 250;
/** The maximum number of pages per call. */
const maxPages = 20;

const input = z.object({
  text: z.string().max(300).optional().describe("Words in its title, note or product."),
  status: z.enum(["DRAFT", "SCHEDULED", "ACTIVE", "PAUSED", "COMPLETED", "CANCELLED"]).optional(),
  medium: z.enum(["EMAIL", "SMS", "SOCIAL", "WEB", "PRINT", "EVENT", "OTHER"]).optional(),
  from: z.iso.date().optional().describe("Those that start on this day or later, as 2026-09-01."),
  to: z.iso.date().optional().describe("Those that start before this day."),
  productId: z.string().max(100).optional().describe("Those for this product."),
  first: z.int().min(1).max(50).default(20).describe("How many, 1 to 50."),
  offset: z.int().min(0).default(0).describe("The `nextOffset` of the answer before, to go on."),
});

type Campaign = Record<string, unknown> & { title: string; note: string | null };

/** Searches the calendar's campaigns, latest start first. */
export const searchCampaigns: ReadTool = {
  description:
    "Finds marketing campaigns, the latest start first: title, status, medium, start, price, product. `nextOffset` tells where to go on for more; null at the end.",
  input,
  operation: `query AssistantCampaigns($offset: Int!) {
  campaigns(first: ${pageSize}, offset: $offset) {
    id title status medium scheduledAt price vintage color note productId product { name erpProductNumber }
  }
}`,
  async find(ask, rawInput) {
    const filters = input.parse(rawInput);
    const campaigns: Campaign[] = [];
    let { offset } = filters;
    for (let pages = 0; pages < maxPages; pages++) {
      const data = await ask({ offset });
      if ("error" in data) return data;
      const read = data["campaigns"] as Campaign[];
      for (const campaign of read) {
        if (campaigns.length === filters.first) return { campaigns, nextOffset: offset };
        // All further campaigns start earlier.
        if (filters.from !== undefined && startOf(campaign) < filters.from)
          return { campaigns, nextOffset: null };
        offset++;
        if (matchesFilters(campaign, filters)) campaigns.push(campaign);
      }
      if (read.length < pageSize) return { campaigns, nextOffset: null };
    }
    const searchedCount = offset - filters.offset;
    const remark = `Only ${searchedCount} campaigns were looked through; ask from nextOffset on for the rest.`;
    return { campaigns, nextOffset: offset, remark };
  },
};

function startOf(campaign: Campaign): string {
  return String(campaign["scheduledAt"]);
}

function matchesFilters(campaign: Campaign, filters: z.output<typeof input>): boolean {
  const { text = "", status, medium, from, to, productId } = filters;
  const { product } = campaign as { product?: { name: string } | null };
  const searchText =
    `${campaign.title}\n${campaign.note ?? ""}\n${product?.name ?? ""}`.toLowerCase();
  const start = startOf(campaign);
  return (
    text
      .toLowerCase()
      .split(/\s+/)
      .every((word) => searchText.includes(word)) &&
    (status === undefined || campaign["status"] === status) &&
    (medium === undefined || campaign["medium"] === medium) &&
    (productId === undefined || campaign["productId"] === productId) &&
    (from === undefined || start >= from) &&
    (to === undefined || start < to)
  );
}
