import { z } from "zod";
import type { ReadTool } from "./readTools.ts";

/** Campaigns that are looked through at a time: a page of the list, which cannot be searched otherwise. */
const page = 250;

const input = z.object({
  text: z.string().max(300).optional().describe("Words that stand in its title, note or product."),
  status: z.enum(["DRAFT", "SCHEDULED", "ACTIVE", "PAUSED", "COMPLETED", "CANCELLED"]).optional(),
  medium: z.enum(["EMAIL", "SMS", "SOCIAL", "WEB", "PRINT", "EVENT", "OTHER"]).optional(),
  from: z.iso.date().optional().describe("Those that start on this day or later, as 2026-09-01."),
  to: z.iso.date().optional().describe("Those that start before this day."),
  productId: z.string().max(100).optional().describe("Those for this product."),
  first: z.int().min(1).max(50).default(20).describe("How many, 1 to 50."),
  offset: z.int().min(0).default(0).describe("The `nextOffset` of the answer before, to go on."),
});

type Campaign = Record<string, unknown> & { title: string; note: string | null };

/** Finds campaigns among those of the calendar, the latest start first. */
export const searchCampaigns: ReadTool = {
  description: `Finds marketing campaigns, the latest start first: title, status, medium, start, price, product. It looks through ${page} at a time; \`nextOffset\` tells where to go on.`,
  input,
  operation: `query AssistantCampaigns($offset: Int!) {
  campaigns(first: ${page}, offset: $offset) {
    id title status medium scheduledAt price vintage color note productId product { name erpProductNumber }
  }
}`,
  variables: (given) => ({ offset: input.parse(given).offset }),
  shape(data, given) {
    const asked = input.parse(given);
    const all = data["campaigns"] as Campaign[];
    const found: Campaign[] = [];
    let looked = 0;
    for (const campaign of all) {
      if (found.length === asked.first) break;
      looked++;
      if (suits(campaign, asked)) found.push(campaign);
    }
    const isEnd = looked === all.length && all.length < page;
    return { campaigns: found, nextOffset: isEnd ? null : asked.offset + looked };
  },
};

function suits(campaign: Campaign, asked: z.output<typeof input>): boolean {
  const { text = "", status, medium, from, to, productId } = asked;
  const { product } = campaign as { product?: { name: string } | null };
  const held = `${campaign.title}\n${campaign.note ?? ""}\n${product?.name ?? ""}`.toLowerCase();
  const start = String(campaign["scheduledAt"]);
  return (
    text
      .toLowerCase()
      .split(/\s+/)
      .every((word) => held.includes(word)) &&
    (status === undefined || campaign["status"] === status) &&
    (medium === undefined || campaign["medium"] === medium) &&
    (productId === undefined || campaign["productId"] === productId) &&
    (from === undefined || start >= from) &&
    (to === undefined || start < to)
  );
}
