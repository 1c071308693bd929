import { performance } from "node:perf_hooks";
import type { Collection } from "./collection.ts";
import { countFacets, parseFacets } from "./facets.ts";
import type { FacetOptions } from "./facets.ts";
import { parseFilter } from "./filter.ts";
import { highlightHit } from "./highlight.ts";
import { pickFields } from "./pickFields.ts";
import { EngineProblem } from "./problem.ts";
import type { JsonObject } from "./problem.ts";
import { parseQuery } from "./queryText.ts";
import type { TextMatch } from "./ranking.ts";
import { shownScores } from "./ranking.ts";
import type { Parameters } from "./searchParameters.ts";
import {
  addParameters,
  splitNames,
  readPaging,
  readSearchedFields,
  refuseUnsupported,
  readUnsigned,
} from "./searchParameters.ts";
import { firstHits, parseSort } from "./sorting.ts";
import type { Hit } from "./sorting.ts";
import type { SearchedField, TextQuery } from "./textQuery.ts";

/**
 * Runs one search, and returns Typesense's `SearchResult`. The parameters of the key override those of the search;
 * their filters are combined.
 * @throws EngineProblem naming the invalid parameter
 */
export function search(collection: Collection, own: Parameters, embedded: JsonObject): JsonObject {
  const started = performance.now();
  const parameters: Record<string, string> = { ...own };
  const refusal = "Error applying search parameters inside Scoped Search API key";
  addParameters(parameters, embedded, { replaces: true, refusal });
  const { schema, tokeniser } = collection;
  refuseUnsupported(parameters);
  const { q } = parameters;
  if (q === undefined) throw new EngineProblem(400, "Parameter `q` is required.");
  const fields = readSearchedFields(parameters, schema);
  if (q !== "*" && fields.length === 0)
    throw new EngineProblem(400, "No search fields specified for the query.");
  const paging = readPaging(parameters);
  const checkNames = parameters.validate_field_names !== "false";
  const filter = parseFilter(parameters.filter_by ?? "", { schema, tokeniser, checkNames });
  const keys = parseSort(parameters.sort_by ?? "", schema);
  const facets = readFacets(collection, parameters);

  const fieldNames = fields.map(({ name }) => name);
  const text = parseQuery(q, fieldNames, tokeniser);
  const hits: Hit[] = [];
  if (text.words.length === 0) {
    for (const stored of collection.all())
      if (filter(stored) && text.accept(stored)) hits.push({ stored, match: null });
  } else {
    const query = readTextQuery(parameters, text.words, fields);
    const accept: TextQuery["accept"] = (stored) => filter(stored) && text.accept(stored);
    for (const [stored, match] of collection.findText({ ...query, accept }))
      hits.push({ stored, match });
  }
  const limit = readUnsigned(parameters, "limit_hits") ?? Infinity;
  const end = Math.min(paging.from + paging.size, limit);
  const page = firstHits(hits, keys, schema, end).slice(paging.from);
  const found = hits.map(({ stored }) => stored);
  return pickAnswer(parameters, {
    facet_counts: countFacets(found, facets),
    found: hits.length,
    hits: page.map((hit) => showHit(hit, collection, parameters, fieldNames)),
    out_of: collection.size,
    ...paging.shown,
    request_params: { collection_name: schema.name, first_q: q, per_page: paging.size, q },
    search_cutoff: false,
    search_time_ms: Math.round(performance.now() - started),
  });
}

function readTextQuery(
  parameters: Parameters,
  words: readonly string[],
  fields: readonly SearchedField[],
): Omit<TextQuery, "accept"> {
  const exhaustive = parameters.exhaustive_search === "true";
  const below = (name: string) => (exhaustive ? Infinity : (readUnsigned(parameters, name) ?? 1));
  const mode = parameters.drop_tokens_mode ?? "right_to_left";
  const from = { right_to_left: "right", left_to_right: "left" } as const;
  const dropFrom = Object.hasOwn(from, mode) ? from[mode as keyof typeof from] : "both";
  if (dropFrom === "both" && !/^both_sides:\d+$/.test(mode))
    throw new EngineProblem(400, "Invalid format for drop tokens mode.");
  return {
    words,
    fields,
    maxCandidates: readUnsigned(parameters, "max_candidates") ?? (exhaustive ? 10_000 : 4),
    minLengths: [
      readUnsigned(parameters, "min_len_1typo") ?? 4,
      readUnsigned(parameters, "min_len_2typo") ?? 7,
    ],
    typosBelow: below("typo_tokens_threshold"),
    dropBelow: below("drop_tokens_threshold"),
    dropFrom,
    preferExact: parameters.prioritize_exact_match !== "false",
  };
}

function readFacets({ schema, tokeniser }: Collection, parameters: Parameters): FacetOptions {
  const requests = parseFacets(parameters.facet_by ?? "", schema);
  const options = {
    requests,
    limit: readUnsigned(parameters, "max_facet_values") ?? 10,
    tokeniser,
    mark: readMark(parameters),
  };
  const text = parameters.facet_query ?? "";
  if (text === "") return { ...options, query: null };
  if (requests.length === 0)
    throw new EngineProblem(
      400,
      "The `facet_query` parameter is supplied without a `facet_by` parameter.",
    );
  const colon = text.indexOf(":");
  const field = text.slice(0, Math.max(colon, 0)).trim();
  if (field === "")
    throw new EngineProblem(400, "Facet query must be in the `facet_field: value` format.");
  if (!requests.some((request) => request.field.name === field))
    throw new EngineProblem(
      400,
      `Facet query refers to a facet field \`${field}\` that is not part of \`facet_by\` parameter.`,
    );
  const words = tokeniser.folded(text.slice(colon + 1)).split(" ");
  return { ...options, query: { field, words: words.filter((word) => word !== "") } };
}

const readMark = (parameters: Parameters): readonly [string, string] => [
  parameters.highlight_start_tag ?? "<mark>",
  parameters.highlight_end_tag ?? "</mark>",
];

function showHit(
  hit: Hit,
  { tokeniser }: Collection,
  parameters: Parameters,
  searched: readonly string[],
): JsonObject {
  const { stored, match } = hit;
  const included = splitNames(parameters.include_fields);
  const excluded = splitNames(parameters.exclude_fields);
  const document = pickFields(stored.document, included, excluded);
  if (match === null) return { document, highlight: {}, highlights: [] };
  const wanted = splitNames(parameters.highlight_fields);
  const fields = wanted.length > 0 ? wanted : searched;
  const none = parameters.highlight_fields === "none";
  const noneInFull = parameters.highlight_full_fields === "none";
  const inFull = splitNames(parameters.highlight_full_fields);
  const shown = (name: string) => !excluded.includes(name);
  const { highlight, highlights } = highlightHit(hit, {
    fields: none ? [] : fields.filter(shown),
    fullFields: noneInFull ? [] : inFull.filter(shown),
    affixWords: readUnsigned(parameters, "highlight_affix_num_tokens") ?? 4,
    snippetThreshold: readUnsigned(parameters, "snippet_threshold") ?? 30,
    mark: readMark(parameters),
    tokeniser,
  });
  return {
    document,
    highlight,
    ...(parameters.enable_highlight_v1 !== "false" && { highlights }),
    ...showMatch(match),
  };
}

function showMatch(match: TextMatch): JsonObject {
  const { field, all } = shownScores(match);
  return {
    text_match: Number(all),
    text_match_info: {
      best_field_score: String(field),
      best_field_weight: match.bestFieldWeight,
      fields_matched: match.fieldsMatched,
      num_tokens_dropped: match.wordsDropped,
      score: String(all),
      tokens_matched: match.wordsMatched,
      typo_prefix_score: match.bestField.cost,
    },
  };
}

/** A key can hide parts of the response, by naming them in `exclude_fields`. */
function pickAnswer({ exclude_fields: text }: Parameters, answer: JsonObject): JsonObject {
  const excluded = new Set(splitNames(text));
  for (const name of ["out_of", "search_time_ms"])
    if (excluded.has(name)) Reflect.deleteProperty(answer, name);
  return answer;
}
