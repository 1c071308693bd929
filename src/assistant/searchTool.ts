import { z } from "zod";
import { unavailable } from "../errors/PublicError.ts";
import type { SearchEngine } from "../gateways/search.ts";
import { SearchEngineError, SearchRefusedError } from "../gateways/search.ts";
import type { Outcome } from "./operations.ts";

export const searchInput = z.object({
  text: z
    .string()
    .min(1)
    .max(300)
    .describe("Words to look for, such as names, places or numbers. They may be misspelt."),
  first: z.int().min(1).max(20).default(5).describe("How many of each kind, 1 to 20."),
});

export const searchDescription =
  "Looks everywhere at once for words, also misspelt ones: in all that the search engine holds and the user may see, such as products, orders, customers and campaigns. Gives the best of each kind and how many there are. For conditions such as a price or a date use the tool of one list.";

/** Requests a search key for everything that the user may search, as a browser does. */
const searchOperation = `query AssistantSearch {
  globalSearchConfig { scopedApiKey searches { type collection queryBy enabled } }
}`;

interface Config {
  scopedApiKey: string;
  searches: { type: string; collection: string; queryBy: string[]; enabled: boolean }[];
}

/**
 * Searches with a scoped key of the user, which gives access only to what they may see.
 * @throws PublicError UNAVAILABLE when the engine does not respond
 */
export async function searchEverywhere(
  engine: SearchEngine | null,
  run: (operation: string) => Promise<Outcome>,
  { text, first }: z.output<typeof searchInput>,
): Promise<Record<string, unknown>> {
  const outcome = await run(searchOperation);
  if (outcome.error !== undefined) return { error: outcome.error };
  const { scopedApiKey, searches } = outcome.data["globalSearchConfig"] as Config;
  const ready = searches.filter(({ enabled }) => enabled);
  if (engine === null || ready.length === 0)
    return { error: "There is nothing that this user may search." };
  const wishes = ready.map(({ collection, queryBy }) => ({ collection, queryBy }));
  const found = await engine.find(scopedApiKey, text, wishes, first).catch((error: unknown) => {
    if (error instanceof SearchEngineError || error instanceof SearchRefusedError)
      throw unavailable("The search engine cannot be reached");
    throw error;
  });
  return {
    total: found.reduce((sum, { total }) => sum + total, 0),
    found: Object.fromEntries(
      ready.map(({ type }, index) => [type, { total: found[index]?.total ?? 0 }]),
    ),
    hits: ready.flatMap(({ type }, index) =>
      (found[index]?.documents ?? []).map((document) => ({ ...document, type })),
    ),
  };
}
