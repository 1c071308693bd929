import type { Entities, EntityField, EntityReference } from "../meta/catalogue.ts";
import { type Row, referredKey } from "../meta/rows.ts";
import { quoteValue } from "../meta/queryTokens.ts";
import { ask } from "./ask.ts";
import { suggestionsByKeyDocument } from "./documents.ts";
import type { Suggestion } from "./suggestion.ts";

/** The most that one request for suggestions returns. */
const batchSize = 50;

/** The names of rows by their keys, as far as the caller may see them. */
export async function suggestionsByKey(
  { entity, keyField }: EntityReference,
  keys: readonly string[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, Suggestion>> {
  const batches = Array.from({ length: Math.ceil(keys.length / batchSize) }, (_, index) =>
    keys.slice(index * batchSize, (index + 1) * batchSize),
  );
  const found = await Promise.all(
    batches.map((batch) =>
      ask<{ suggestions: Suggestion[] }>(
        suggestionsByKeyDocument,
        { entity, query: `${keyField}:IN(${batch.map(quoteValue).join(", ")})` },
        { signal },
      ),
    ),
  );
  return new Map(found.flatMap(({ suggestions }) => suggestions.map((row) => [row.id, row])));
}

/**
 * Adds the rows that `rows` refer to where the API has no field for them, by their keys: a table whose migration says nothing of
 * its relations shows names all the same. A row that the caller may not read stays an id.
 */
export async function addReferredRows(
  entities: Entities,
  fields: readonly EntityField[],
  rows: readonly Row[],
  signal?: AbortSignal,
): Promise<void> {
  await Promise.all(
    fields.map(async (field) => {
      const { reference } = field;
      if (reference === null || reference.field !== null || !entities.get(reference.entity)) return;
      const keys = [...new Set(rows.map((row) => row[field.name]))].filter(
        (key) => typeof key === "string",
      );
      const byKey = await suggestionsByKey(reference, keys, signal);
      for (const row of rows) {
        const referred = byKey.get(String(row[field.name]));
        if (referred) row[referredKey(field)] = referred;
      }
    }),
  );
}
