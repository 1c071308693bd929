import { day } from "./periodWords.ts";
import type { Facts } from "./facts.ts";

const media: readonly (readonly [RegExp, string])[] = [
  [/\b(e-?mails?|newsletter)\b/i, "EMAIL"],
  [/\b(sms|text messages?)\b/i, "SMS"],
  [/\b(social( media)?|instagram|facebook)\b/i, "SOCIAL"],
  [/\b(web(site)?|online)\b/i, "WEB"],
  [/\b(print|flyer|poster|leaflet)s?\b/i, "PRINT"],
  [/\b(event|tasting|fair)s?\b/i, "EVENT"],
];
const states: readonly (readonly [RegExp, string])[] = [
  [/\bcancel/i, "CANCELLED"],
  [/\bpause/i, "PAUSED"],
  [/\b(status|to|as|is|it)\s+draft\b/i, "DRAFT"],
  [/\b(status|to|as|is|it)\s+(scheduled)\b/i, "SCHEDULED"],
  [/\b(status|to|as|is|it)\s+active\b|\bactivate\b/i, "ACTIVE"],
  [/\b(status|to|as|is|it)\s+completed?\b/i, "COMPLETED"],
];

interface CampaignContext {
  quoted: readonly string[];
  isChange: boolean;
  now: Date;
}

/**
 * What a request to create or change a campaign says of it. The first thing in quotes is its title; of one that is there already,
 * the second is what becomes of it.
 */
export function readCampaign(text: string, { quoted, isChange, now }: CampaignContext): Facts {
  const facts: Facts = {};
  const named =
    /\b(?:called|titled|named|title)\s+([^,.;"“]{1,100}?)(?=\s+(?:for|at|by|on|with|price|starting)\b|[,.;]|$)/i.exec(
      text,
    );
  const title = (isChange ? quoted[1] : quoted[0]) ?? (isChange ? undefined : named?.[1]?.trim());
  if (title !== undefined) facts["title"] = title;
  if (isChange && quoted[0] !== undefined) facts["found"] = quoted[0];
  const price =
    /\b(?:price|for|at)\s+(?:of\s+|is\s+|to\s+)?((?:€|\$|EUR |USD |DKK )?\d+(?:[.,]\d{1,2})?(?:\s?(?:€|EUR|USD|DKK|kr))?)(?![\d-]|:\d)/i.exec(
      text,
    )?.[1];
  if (price !== undefined) facts["price"] = price.trim();
  const medium = media.find(([pattern]) => pattern.test(text))?.[1];
  if (medium !== undefined) facts["medium"] = medium;
  const status = states.find(([pattern]) => pattern.test(text))?.[1];
  if (status !== undefined) facts["status"] = status;
  const at = startOf(text, now);
  if (at !== null) facts["scheduledAt"] = at;
  const note = /\bnote:?\s+(.{1,500})$/i.exec(text)?.[1];
  if (note !== undefined) facts["note"] = note.replace(/^["“]|["”]$/g, "");
  return facts;
}

const months =
  "january february march april may june july august september october november december".split(
    " ",
  );

function startOf(text: string, now: Date): string | null {
  const exact = /\b(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))?/.exec(
    text,
  );
  if (exact?.[1] !== undefined) return exact[2] === undefined ? `${exact[1]}T09:00:00Z` : exact[0];
  const written = new RegExp(
    String.raw`\b(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?(${months.join("|")})(?:\s+(\d{4}))?\b`,
    "i",
  ).exec(text);
  if (written?.[2] !== undefined) {
    const month = months.indexOf(written[2].toLowerCase());
    const given = written[3] === undefined ? now.getUTCFullYear() : Number(written[3]);
    const at = Date.UTC(given, month, Number(written[1]));
    const next =
      written[3] === undefined && at < now.getTime()
        ? Date.UTC(given + 1, month, Number(written[1]))
        : at;
    return `${day(next)}T09:00:00Z`;
  }
  const ahead = /\btomorrow\b/i.test(text) ? 1 : /\bnext week\b/i.test(text) ? 7 : null;
  if (ahead === null) return null;
  return `${day(now.getTime() + ahead * 86_400_000)}T09:00:00Z`;
}
