import { plainSchema, typeOf } from "./chooseTool.ts";
import type { JsonSchema, Tool } from "./protocol.ts";
import type { Facts } from "./facts.ts";

/** Arguments for a tool, and the required ones for which nothing is known. */
export interface Filled {
  arguments: Record<string, unknown>;
  missing: readonly string[];
  /** Names of the facts that found a place. */
  used: ReadonlySet<string>;
}

// By which names parameters ask for a fact; the fact's own name always counts.
const names: Readonly<Record<string, readonly string[]>> = {
  query: ["filter", "where"],
  text: ["words", "q", "term", "search", "searchText", "phrase", "question", "keywords"],
  limit: ["first", "take", "max", "maxResults", "pageSize", "perPage", "count", "top"],
  maxPrice: ["priceMax", "priceBelow", "priceUnder", "maximumPrice"],
  minPrice: ["priceMin", "priceAbove", "priceOver", "minimumPrice"],
  hasCampaign: ["withCampaign", "inCampaign"],
  wineType: ["wineTypeName", "type"],
  from: ["since", "fromDate", "campaignFrom"],
  to: ["until", "toDate", "campaignTo"],
  number: ["orderNumber", "erpProductNumber", "productNumber"],
  numbers: ["orderNumbers", "erpProductNumbers", "productNumbers"],
  scheduledAt: ["startsAt", "start", "date", "scheduledFor"],
  template: ["templateName", "source"],
  key: ["value", "erpValue"],
  topic: ["type", "about", "of", "table", "collection", "subject", "resource"],
  isIgnored: ["ignore", "ignored"],
};
const known = new Map<string, string[]>();
for (const [fact, others] of Object.entries(names))
  for (const name of others) known.set(bare(name), [...(known.get(bare(name)) ?? []), fact]);

/** Puts facts where the tool's schema asks for them; objects within are filled in the same way. */
export function fillArguments(tool: Tool, facts: Facts): Filled {
  const used = new Set<string>();
  const missing: string[] = [];
  const values = fillObject(tool.parameters, facts, used, missing);
  return { arguments: values, missing, used };
}

function fillObject(
  schema: JsonSchema,
  facts: Facts,
  used: Set<string>,
  missing: string[],
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, raw] of Object.entries(schema.properties ?? {})) {
    const property = plainSchema(raw);
    const required = schema.required?.includes(name) === true;
    if (typeOf(property) === "object" && property.properties !== undefined) {
      const inner = fillObject(property, facts, used, required ? missing : []);
      if (required || Object.keys(inner).length > 0) values[name] = inner;
      continue;
    }
    const fact = factFor(name, facts);
    const value = fact === undefined ? undefined : fit(property, facts[fact]);
    if (value !== undefined && fact !== undefined) {
      values[name] = value;
      used.add(fact);
    } else if (required) missing.push(name);
  }
  return values;
}

function factFor(name: string, facts: Facts): string | undefined {
  const wanted = bare(name);
  const own = Object.keys(facts).find((fact) => bare(fact) === wanted);
  return own ?? known.get(wanted)?.find((fact) => fact in facts);
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}

/** The value as the schema wants it; undefined when it does not fit. */
function fit(schema: JsonSchema, value: Facts[string] | undefined): unknown {
  if (value === undefined) return undefined;
  if (schema.enum !== undefined) {
    const wanted = bare(String(value));
    return schema.enum.find((one) => sameWord(bare(String(one)), wanted));
  }
  switch (typeOf(schema)) {
    case "array": {
      const items = (Array.isArray(value) ? value : [value]).map((one: string | number | boolean) =>
        fit(plainSchema(schema.items ?? {}), one),
      );
      const fitting = items.filter((item) => item !== undefined);
      return fitting.length === 0 ? undefined : fitting.slice(0, schema.maxItems ?? 50);
    }
    case "integer":
    case "number": {
      const number = Number(Array.isArray(value) ? value[0] : value);
      if (Number.isNaN(number)) return undefined;
      return Math.min(schema.maximum ?? number, Math.max(schema.minimum ?? number, number));
    }
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    default:
      return Array.isArray(value)
        ? value[0]
        : typeof value === "boolean"
          ? undefined
          : String(value);
  }
}

/** The same, be one of them in the plural. */
function sameWord(a: string, b: string): boolean {
  return a === b || a === `${b}s` || b === `${a}s`;
}
