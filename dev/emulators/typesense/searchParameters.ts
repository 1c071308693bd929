import type { JsonObject } from "./problem.ts";
import { EngineProblem } from "./problem.ts";
import type { Schema } from "./schema.ts";
import { isStringField } from "./schema.ts";
import type { SearchedField } from "./textQuery.ts";

/** The parameters of a search by name, as in a query string. */
export type Parameters = Readonly<Record<string, string>>;

/** Parameters that the emulator refuses: it does not implement them, and ignoring them would give wrong results. */
const unsupportedParameters = [
  "conversation",
  "group_by",
  "hidden_hits",
  "join",
  "nl_query",
  "pinned_hits",
  "preset",
  "stopwords",
  "vector_query",
  "voice_query",
];

export function refuseUnsupported(parameters: Parameters): void {
  for (const name of unsupportedParameters) {
    const value = parameters[name] ?? "";
    if (value !== "" && value !== "false")
      throw new EngineProblem(
        400,
        `Parameter \`${name}\` is not supported by the Typesense emulator.`,
      );
  }
  if (
    parameters.infix?.split(",").some((one) => one.trim() !== "off" && one.trim() !== "") === true
  )
    throw new EngineProblem(400, "Parameter `infix` is not supported by the Typesense emulator.");
}

export const readUnsigned = (parameters: Parameters, name: string): number | undefined => {
  const text = parameters[name];
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text) || Number(text) >= 2 ** 32)
    throw new EngineProblem(400, `Parameter \`${name}\` must be an unsigned integer.`);
  return Number(text);
};

export function splitNames(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

const maxHits = 250;

export interface Paging {
  from: number;
  size: number;
  /** The paging in the response. */
  shown: { page: number } | { offset: number };
}

/** @throws EngineProblem when a value is not a number, or the page is too large */
export function readPaging(parameters: Parameters): Paging {
  const facetsOnly = (parameters.facet_query ?? "") !== "";
  const perPage = readUnsigned(parameters, "per_page");
  const size = readUnsigned(parameters, "limit") ?? perPage ?? (facetsOnly ? 0 : 10);
  if (size > maxHits)
    throw new EngineProblem(422, `Only upto ${maxHits} hits can be fetched per page.`);
  const page = readUnsigned(parameters, "page") ?? 0;
  const offset = readUnsigned(parameters, "offset") ?? 0;
  if (page === 0 && offset !== 0) return { from: offset, size, shown: { offset } };
  const actual = Math.max(page, 1);
  return { from: (actual - 1) * size, size, shown: { page: actual } };
}

/** One value for each field, or one for all of them. */
function perField<T>(
  { list, name, count }: { list: readonly string[]; name: string; count: number },
  read: (text: string) => T,
): T[] | undefined {
  if (list.length === 0) return undefined;
  const values = list.map(read);
  const [first] = values;
  if (values.length === 1 && first !== undefined) return Array.from({ length: count }, () => first);
  if (values.length === count) return values;
  throw new EngineProblem(
    400,
    `Number of values in \`${name}\` does not match number of \`query_by\` fields.`,
  );
}

const maxTypos = 2;

/** @throws EngineProblem naming the invalid parameter or field */
export function readSearchedFields(parameters: Parameters, schema: Schema): SearchedField[] {
  const fields = splitNames(parameters.query_by);
  const checks = parameters.validate_field_names !== "false";
  const known = fields.filter((name) => checks || schema.fields.some((one) => one.name === name));
  for (const name of known) checkSearched(name, schema);
  const number = (name: string) => (text: string) => {
    if (/^\d{1,9}$/.test(text)) return Number(text);
    throw new EngineProblem(400, `Parameter \`${name}\` is malformed.`);
  };
  const list = (name: string) => ({
    list: splitNames(parameters[name]),
    name,
    count: fields.length,
  });
  const typos = perField(list("num_typos"), number("num_typos"));
  const prefixes = perField(list("prefix"), (text) => text === "true");
  const weights = splitNames(parameters.query_by_weights).map(number("query_by_weights"));
  if (weights.length > 0 && weights.length !== fields.length)
    throw new EngineProblem(
      400,
      "Number of weights in `query_by_weights` does not match number of `query_by` fields.",
    );
  return known.map((name) => {
    const place = fields.indexOf(name);
    return {
      name,
      weight: Math.min(weights[place] ?? fields.length - place, 127),
      typos: Math.min(typos?.[place] ?? maxTypos, maxTypos),
      prefix: prefixes?.[place] ?? true,
    };
  });
}

function checkSearched(name: string, { fields }: Schema): void {
  if (name === "id") throw new EngineProblem(400, "Cannot use `id` as a query by field.");
  const field = fields.find((one) => one.name === name);
  if (field === undefined)
    throw new EngineProblem(404, `Could not find a field named \`${name}\` in the schema.`);
  if (!field.index)
    throw new EngineProblem(
      400,
      `Field \`${name}\` is marked as a non-indexed field in the schema.`,
    );
  if (!isStringField(field))
    throw new EngineProblem(400, `Field \`${name}\` should be a string or a string array.`);
}

/**
 * Adds parameters to the present ones, which `replaces` overwrites. Two filters are joined as text.
 * @throws EngineProblem with the text of `refusal` when a value is neither text, number nor boolean
 */
export function addParameters(
  parameters: Record<string, string>,
  added: JsonObject,
  { replaces, refusal }: { replaces: boolean; refusal: string },
): void {
  for (const [name, value] of Object.entries(added)) {
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
      throw new EngineProblem(400, refusal);
    const text = String(value);
    const present = Object.hasOwn(parameters, name) ? (parameters[name] ?? "") : undefined;
    if (present === undefined) parameters[name] = text;
    else if (name === "filter_by") {
      const both = [present, text].filter((one) => one !== "").map((one) => `(${one})`);
      parameters[name] = both.join(" && ");
    } else if (replaces) parameters[name] = text;
  }
}
