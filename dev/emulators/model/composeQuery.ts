import type { JsonSchema, Tool } from "./protocol.ts";
import type { Question } from "./question.ts";

/**
 * Conditions on rows as `field:value`, for tools whose query takes such. Of several names for a field the first counts that the
 * tool's own text mentions in backticks; where it mentions none of them, the first of all.
 */
export function composeQuery({ topic, facts, words }: Question, tool: Tool): string | undefined {
  const text = ` ${descriptions(tool.description, tool.parameters)} `;
  const field = (...candidates: readonly [string, ...string[]]) =>
    candidates.find((name) => text.includes(`\`${name}\``) || text.includes(`\`${name}:`)) ??
    candidates[0];
  const terms = words.map(quote);
  const { minPrice, maxPrice, wineType, vintage, hasCampaign, from, to, number, status } = facts;
  if (topic === "product") {
    const price = field("prices.amount", "price");
    if (maxPrice !== undefined) terms.push(`${price}:<${String(maxPrice)}`);
    if (minPrice !== undefined) terms.push(`${price}:>${String(minPrice)}`);
    if (wineType !== undefined)
      terms.push(`${field("wineType.name", "type")}:${quote(String(wineType))}`);
    if (vintage !== undefined) terms.push(`vintage:${String(vintage)}`);
    if (number !== undefined)
      terms.push(`${field("erpProductNumber", "number")}:${quote(String(number))}`);
    const planned =
      from === undefined ? "campaigns.id:*" : `campaigns:(${during("scheduledAt", from, to)})`;
    if (hasCampaign !== undefined) terms.push(hasCampaign === true ? planned : `-${planned}`);
  } else {
    if (number !== undefined)
      terms.push(`${field("erpOrderNumber", "number")}:${quote(String(number))}`);
    if ((topic === "campaign" || topic === "order") && status !== undefined)
      terms.push(`status:${String(status)}`);
    if (from !== undefined) {
      const at =
        topic === "campaign" ? field("scheduledAt") : field("placedAt", "orderDate", "createdAt");
      terms.push(during(at, from, to));
    }
  }
  return terms.length === 0 ? undefined : terms.join(" ");
}

/** All that is said about a tool and its parameters. */
function descriptions(description: string | undefined, { properties = {} }: JsonSchema): string {
  const inner = Object.values(properties).map((one) => descriptions(one.description, one));
  return [description ?? "", ...inner].join(" ");
}

function during(field: string, from: unknown, to: unknown): string {
  return `${field}:>=${String(from)} ${field}:<${String(to)}`;
}

function quote(word: string): string {
  return /^[\p{L}\p{N}]+$/u.test(word) && !/^(AND|OR|NOT|TO|IN)$/.test(word)
    ? word
    : `"${word.replaceAll(/["\\]/g, " ").trim()}"`;
}
