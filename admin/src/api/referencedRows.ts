import type { Entities, EntityField, EntityReference } from "../meta/entities.ts";
import { formatReferenced, formatSuggestion } from "../meta/kinds.tsx";
import { type Row, referencedRowKey } from "../meta/rows.ts";
import { quoteValue } from "../meta/queryTokens.ts";
import { ask } from "./ask.ts";
import { suggestionsByKeyDocument } from "./documents.ts";
import type { Suggestion } from "./suggestion.ts";

/** The maximum number of suggestions per request. */
const batchSize = 50;

/** The names of rows by key, without rows that the caller may not read. */
export async function suggestionsByKey(
  entities: Entities,
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
  return new Map(
    found.flatMap(({ suggestions }) =>
      suggestions.map((row) => [row.id, formatSuggestion(entities.get(entity), row)]),
    ),
  );
}

/**
 * Adds the names of referenced rows as lists show them. Looks up rows by key where the API has no field for them, so that
 * a table without declared relations also shows names. A row that the caller may not read is shown by its id.
 */
export async function addReferencedRows(
  entities: Entities,
  fields: readonly EntityField[],
  rows: readonly Row[],
  signal?: AbortSignal,
): Promise<void> {
  await Promise.all(
    fields.map(async (field) => {
      const { reference } = field;
      if (reference === null || !entities.get(reference.entity)) return;
      if (reference.field !== null) {
        for (const row of rows) {
          const referenced = formatReferenced(entities, field, row);
          if (referenced) row[referencedRowKey(field)] = referenced;
        }
        return;
      }
      const keys = [...new Set(rows.map((row) => row[field.name]))].filter(
        (key) => typeof key === "string",
      );
      const byKey = await suggestionsByKey(entities, reference, keys, signal);
      for (const row of rows) {
        const referenced = byKey.get(String(row[field.name]));
        if (referenced) row[referencedRowKey(field)] = referenced;
      }
    }),
  );
}
