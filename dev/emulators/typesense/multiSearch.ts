import type { Engine } from "./engine.ts";
import type { Answer, Exchange } from "./exchange.ts";
import { ok } from "./exchange.ts";
import type { Keys } from "./keys.ts";
import type { JsonObject } from "./problem.ts";
import { EngineProblem, isObject, parseObject } from "./problem.ts";
import { addParameters } from "./searchParameters.ts";
import { search } from "./search.ts";

const maxSearches = 50;

/**
 * The parameters that each entry's key embeds; null when a key is refused, which refuses all entries.
 * An entry may name a separate key.
 */
export function admitSearches(keys: Keys, exchange: Exchange): JsonObject[] | null {
  const action = "documents:search";
  const searches = readSearches(exchange);
  if (searches === null) return keys.admit({ key: exchange.key, action, collection: "" }) && [];
  if (searches.length === 0) return keys.admit({ key: exchange.key, action, collection: "" }) && [];
  const embedded: JsonObject[] = [];
  for (const entry of searches) {
    const own = isObject(entry) ? entry["x-typesense-api-key"] : undefined;
    const key = typeof own === "string" ? own : exchange.key;
    const scope = keys.admit({ key, action, collection: collectionOf(entry, exchange) });
    if (scope === null) return null;
    embedded.push(scope);
  }
  return embedded;
}

function readSearches({ body }: Exchange): unknown[] | null {
  try {
    const { searches } = parseObject(body);
    return Array.isArray(searches) ? searches : null;
  } catch {
    return null;
  }
}

function collectionOf(entry: unknown, { query }: Exchange): string {
  const own = isObject(entry) ? entry.collection : undefined;
  return typeof own === "string" ? own : (query.collection ?? "");
}

/** Runs each search separately: the result of a failed search is its error. */
export function multiSearch(
  engine: Engine,
  exchange: Exchange,
  embedded: readonly JsonObject[],
): Answer {
  const body = parseObject(exchange.body);
  const { searches } = body;
  if (!Array.isArray(searches)) throw new EngineProblem(400, "Missing `searches` array.");
  if (body.union === true)
    throw new EngineProblem(400, "`union` is not supported by the Typesense emulator.");
  const limit = readLimit(embedded[0]?.limit_multi_searches ?? exchange.query.limit_multi_searches);
  if (searches.length > limit)
    throw new EngineProblem(
      400,
      "Number of multi searches exceeds `limit_multi_searches` parameter.",
    );
  if (!searches.every(isObject))
    throw new EngineProblem(400, "The value of `searches` must be an array of objects.");
  const results = searches.map((entry, place) => {
    const parameters = parametersOf(entry, exchange);
    try {
      const collection = engine.collection(collectionOf(entry, exchange));
      return search(collection, parameters, embedded[place] ?? {});
    } catch (error) {
      if (!(error instanceof EngineProblem)) throw error;
      return { code: error.status, error: error.message };
    }
  });
  return ok({ results });
}

function readLimit(given: unknown): number {
  if (typeof given !== "string" && typeof given !== "number") return maxSearches;
  return /^\d{1,9}$/.test(String(given)) ? Number(given) : maxSearches;
}

/** Parameters of the URL override those of all entries. */
function parametersOf(entry: JsonObject, { query }: Exchange): Record<string, string> {
  const { "x-typesense-api-key": _key, collection: _collection, ...own } = entry;
  const parameters: Record<string, string> = { ...query };
  const refusal = "One or more search parameters are malformed.";
  addParameters(parameters, own, { replaces: false, refusal });
  return parameters;
}
