import { readCampaign } from "./campaignWords.ts";
import type { Facts } from "./facts.ts";
import { readPeriod } from "./periodWords.ts";

/** What a question can be about. */
export type Topic =
  | "product"
  | "order"
  | "customer"
  | "campaign"
  | "issue"
  | "export"
  | "template"
  | "sync"
  | "rule"
  | "schema"
  | "field"
  | "search";

/** What is wanted: to see something, or to have something done. */
export type Verb = "read" | "create" | "change" | "start" | "trigger" | "add";

/** A question as the rules understand it. */
export interface Question {
  verb: Verb;
  topic: Topic;
  facts: Facts;
  /** Words that no rule understood: names, as a rule. */
  words: readonly string[];
  /** The lists that it names, in the plural. */
  lists: readonly string[];
}

const topics: readonly (readonly [Topic, RegExp])[] = [
  ["rule", /\bmapping rules?\b|\bmap\b/],
  ["template", /\b(export )?templates?\b/],
  ["export", /\bexport(s|ed|ing)?\b/],
  [
    "issue",
    /\b(import )?issues?\b|\bstuck\b|\bunmapped\b|\bproduct group\b|\bimport (problem|failure)s?\b/,
  ],
  ["sync", /\bsync(s|ed|hroni[sz]e\w*|hroni[sz]ation)?\b/],
  ["field", /\b(search fields?|fields?|query language)\b/],
  ["schema", /\b(schema|documentation|docs|operations?|mutations?)\b/],
  ["order", /\borders?\b/],
  ["customer", /\bcustomers?\b/],
  ["search", /\b(search|anything about|everywhere|look up)\b/],
];

const wineTypes = /\b(red|white|rosé|rose|sparkling|dessert|fortified)\b/;
const orderStages = /\b(draft|in review|open|partly[ -]shipped|shipped|invoiced|cancelled)\b/;
const withoutCampaign =
  /\b(no|without|lack(s|ing)?|not?\b.{0,20}\b(in|on|have)|don't have|hasn't|haven't)\b[^.?!]{0,25}\bcampaigns?\b/;
const withCampaign =
  /\b(with|have|has|having|in|on)\b (an? |any |some |running |active )*campaigns?\b/;

/** Reads a question; `now` tells what "this autumn" is. */
export function readQuestion(text: string, now: Date): Question {
  // What is quoted is a name, never a word of the question.
  const quoted = [...text.matchAll(/["“”«»]([^"“”«»]{1,200})["“”«»]/g)].map(
    ([, held]) => held ?? "",
  );
  const plain = text.replace(/["“”«»][^"“”«»]*["“”«»]/g, " ").replaceAll("’", "'");
  const lower = plain.toLowerCase();
  const verb = verbOf(lower);
  const topic = topicOf(lower, verb);
  const facts: Facts = { ...numbers(plain, topic), ...readPeriod(lower, now) };
  const type = wineTypes.exec(lower)?.[1];
  if (type !== undefined) facts["wineType"] = capital(type === "rose" ? "rosé" : type);
  if (topic === "product" && verb === "read") {
    if (withoutCampaign.test(lower)) facts["hasCampaign"] = false;
    else if (withCampaign.test(lower)) facts["hasCampaign"] = true;
  }
  const state = /\b(draft|scheduled|active|paused|completed|cancelled)\b/.exec(lower)?.[1];
  if (topic === "campaign" && verb === "read" && state !== undefined)
    facts["status"] = state.toUpperCase();
  const stage = orderStages.exec(lower)?.[1];
  if (topic === "order" && stage !== undefined)
    facts["status"] = stage.toUpperCase().replaceAll(/[\s-]/g, "_");
  if (topic === "campaign" && verb !== "read")
    Object.assign(facts, readCampaign(text, { quoted, isChange: verb === "change", now }));
  if (topic === "rule" || topic === "issue") Object.assign(facts, mapping(text));
  if ((topic === "export" || topic === "template") && quoted[0] !== undefined)
    facts["template"] = quoted[0];
  const words = wordsOf(plain, facts);
  const named = /\b(product|wine|order|campaign|customer|export)s?\b/g;
  const lists = [...lower.matchAll(named)].map(([, one]) =>
    one === "wine" ? "products" : `${one ?? ""}s`,
  );
  return {
    verb,
    topic,
    facts,
    lists,
    words: topic === "campaign" && verb !== "read" ? words : [...quoted, ...words],
  };
}

function verbOf(lower: string): Verb {
  const asked =
    /^\s*(which|what|why|how|when|who|where|is|are|do|does|did|show|list|find|tell|give)\b/;
  if (asked.test(lower)) return "read";
  if (
    /\b(trigger|start|run|do)\b.{0,30}\bsync|\bsync(hroni[sz]e)?\b.{0,40}\b(product|wine|now)/.test(
      lower,
    )
  )
    return "trigger";
  if (/\b(map|ignore)\b.{0,60}\b(to|as|from now)\b|\badd\b.{0,30}\bmapping\b/.test(lower))
    return "add";
  if (/\bexport\b/.test(lower) && !/\bexport(s|ed)\b/.test(lower)) return "start";
  if (/\b(create|make|add|plan|new)\b.{0,80}\bcampaign/.test(lower)) return "create";
  if (/\b(change|rename|move|update|reschedule|postpone|cancel|pause|set)\b/.test(lower))
    return "change";
  return "read";
}

function topicOf(lower: string, verb: Verb): Topic {
  if (verb === "create" || verb === "change") return "campaign";
  if (verb === "trigger") return "sync";
  if (verb === "add") return "rule";
  if (verb === "start") return "export";
  const found = topics.find(([, pattern]) => pattern.test(lower));
  if (found !== undefined) return found[0];
  // A campaign beside wines is a condition on the wines.
  const wines =
    /\b(wines?|products?|bottles?|vintages?)\b/.test(lower) || /\bno campaigns?\b/.test(lower);
  const about = /\bcampaigns?\b/.test(lower) && !wines && !withoutCampaign.test(lower);
  return about ? "campaign" : "product";
}

const amount = String.raw`(?:€|\$|eur|usd|dkk|kr\.?)?\s*(\d+(?:[.,]\d{1,2})?)`;
const below = new RegExp(
  String.raw`\b(?:under|below|less than|cheaper than|at most|up to|<)\s*${amount}`,
  "i",
);
const above = new RegExp(
  String.raw`\b(?:over|above|more than|dearer than|at least|>)\s*${amount}`,
  "i",
);
const between = new RegExp(String.raw`\bbetween\s+${amount}\s+and\s+${amount}`, "i");

function numbers(text: string, topic: Topic): Facts {
  const facts: Facts = {};
  const range = between.exec(text);
  const max = range?.[2] ?? below.exec(text)?.[1];
  const min = range?.[1] ?? above.exec(text)?.[1];
  if (max !== undefined) facts["maxPrice"] = Number(max.replace(",", "."));
  if (min !== undefined) facts["minPrice"] = Number(min.replace(",", "."));
  const rest = text
    .replace(between, " ")
    .replace(below, " ")
    .replace(above, " ")
    .replace(/\d{4}-\d\d-\d\d\S*/g, " ");
  const year = /\b(1[89]\d\d|20\d\d)\b/.exec(rest)?.[1];
  if (year !== undefined && (topic === "product" || topic === "campaign"))
    facts["vintage"] = Number(year);
  const ids = [...text.matchAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi)].map(
    ([id]) => id,
  );
  if (ids[0] !== undefined) Object.assign(facts, { id: ids[0], ids });
  const codes = [...rest.matchAll(/\b[A-Z][A-Z-]{0,9}\d{3,}\b|\b\d{5,}\b/g)].map(([code]) => code);
  const listed = /\b(?:products?|wines?|numbers?)\s+(\d[\w-]*(?:\s*(?:,|and)\s*\d[\w-]*)*)/i.exec(
    rest,
  )?.[1];
  if (listed !== undefined && topic === "sync") codes.push(...listed.split(/\s*(?:,|and)\s*/));
  if (codes[0] !== undefined) Object.assign(facts, { number: codes[0], numbers: codes });
  return facts;
}

/** Product group 40 is the key `40` of the code for kinds of lines. */
function mapping(text: string): Facts {
  const facts: Facts = {};
  const code = /\b([a-z]+(?:_[a-z]+)*\.[a-z]+)\b/.exec(text)?.[1];
  const named =
    /\b(product group|line kind|payment method|shipping method|shipment method|VAT code|currency|warehouse|location)\s+["“]?([\w.-]{1,60}\w|\w)["”]?/i.exec(
      text,
    );
  const kind = named?.[1]?.toLowerCase();
  if (kind !== undefined && named?.[2] !== undefined) {
    facts["key"] = named[2];
    facts["code"] = codes[kind] ?? "";
  }
  if (code !== undefined) facts["code"] = code;
  const target = /\b(?:to|as)\s+(?:the\s+)?(?:target\s+)?["“]?([\w-]+)["”]?\s*[.!]?\s*$/i.exec(
    text,
  )?.[1];
  if (target !== undefined) facts["target"] = target;
  if (/\bignore\b/i.test(text)) facts["isIgnored"] = true;
  return facts;
}

const codes: Readonly<Record<string, string>> = {
  "product group": "line_kind.unmapped",
  "line kind": "line_kind.unmapped",
  "payment method": "payment_method.unmapped",
  "shipping method": "shipping_method.unmapped",
  "shipment method": "shipping_method.unmapped",
  "vat code": "vat_code.unmapped",
  currency: "currency.unmapped",
  warehouse: "warehouse.unmapped",
  location: "warehouse.unmapped",
};

const common = new Set(
  (
    "a about active all am an and any are as at autumn be been bottle bottles by called campaign campaigns can change cheaper code could create currency " +
    "customer customers dessert did do does dkk documentation eur euro euros every everything export exports fall field fields find for fortified from give " +
    "group had has have haven't hasn't how i i'd ignore in import is issue issues it kr latest last less like list look make many map mapping me month more most much my need new next no " +
    "not now of on open or order orders our over please price prices problem product products red rose rosé rule running schema search season see sell sell " +
    "show since some sparkling spring start started status stuck summer sync tell than that the their them there these they this those to today trigger under below above " +
    "up usd use using vintage vintages want was we week were what when where which white who why will wine wines winter with without would year you your template templates " +
    "e-mail e-mails email newsletter sms social media print flyer event tasting at by date first one product's price title draft active paused scheduled completed cancelled " +
    "set rename pause move postpone reschedule add plan put send run trigger between least cost costs costing don't anything everywhere partly partly-shipped shipped invoiced review synchronise synchronize type types called titled named get got made"
  ).split(" "),
);

/** What is left are names: without a plural's `s`, since a search finds what contains them. */
function wordsOf(plain: string, facts: Facts): string[] {
  const known = new Set(
    Object.values(facts).flatMap((value) =>
      Array.isArray(value) ? value.map(String) : [String(value)],
    ),
  );
  const words = plain.match(/[\p{L}][\p{L}\p{M}'-]*|\b[\w-]*\d[\w-]*\b/gu) ?? [];
  return words
    .map((word) => word.replace(/'s$/, ""))
    .filter((word) => !common.has(word.toLowerCase()) && !known.has(word) && !/^[\d-]+$/.test(word))
    .map((word) => (/^\p{Lu}.{3,}[^s]s$/u.test(word) ? word.slice(0, -1) : word))
    .slice(0, 6);
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** Whether nothing is asked: a greeting, or what the assistant can do. */
export function isSmallTalk({ verb, topic, facts, words }: Question, text: string): boolean {
  const greeting = /^\s*(hi|hello|hey|good (morning|day|evening)|thanks|thank you)\b/i;
  if (greeting.test(text) && words.length <= 2) return true;
  if (/\bwhat can you\b|\bwho are you\b/i.test(text)) return true;
  const named = /\b(wine|product|bottle)s?\b/i.test(text) || words.length > 0;
  return verb === "read" && topic === "product" && !named && Object.keys(facts).length === 0;
}
