import type { Entities, Entity } from "../meta/catalogue.ts";
import { quoteValue } from "../meta/queryTokens.ts";
import type { Row } from "../meta/rows.ts";
import { ask } from "./ask.ts";
import { recordBelowDocument, recordDocument } from "./recordDocuments.ts";
import { addReferredRows } from "./referredRows.ts";
import type { Page } from "./rows.ts";

/** The row `id`, or null where it does not exist or the caller may not see it. */
export async function fetchRecord(
  entities: Entities,
  entity: Entity,
  id: string,
  signal?: AbortSignal,
): Promise<Row | null> {
  if (entity.keyField === null) return null;
  const row = await (entity.pagesField === null
    ? recordBelow(entities, entity, id, signal)
    : recordListed(entity, id, signal));
  if (row) await addReferredRows(entities, entity.fields, [row], signal);
  return row;
}

async function recordListed(entity: Entity, id: string, signal?: AbortSignal): Promise<Row | null> {
  const answer = await ask<{ row?: Row | null; page?: Page }>(
    recordDocument(entity),
    entity.recordField === null ? { query: `${entity.keyField}:${quoteValue(id)}` } : { id },
    { signal },
  );
  return answer.row ?? answer.page?.nodes[0] ?? null;
}

/** The most rows of a connection that one request returns. */
const batchSize = 250;

/** Looks below the rows of other tables, which the query language finds by the row's key. */
async function recordBelow(
  entities: Entities,
  entity: Entity,
  id: string,
  signal?: AbortSignal,
): Promise<Row | null> {
  for (const parent of entity.parents) {
    const upper = entities.get(parent.entity);
    if (!upper) continue;
    const document = recordBelowDocument(entity, upper, parent);
    const query = `${parent.field}.${entity.keyField}:${quoteValue(id)}`;
    // A list comes whole. Connections of such tables take no query: their pages are looked through.
    for (let offset = 0; ; offset += batchSize) {
      const answer = await ask<{ upper: { nodes: { rows: Row[] | Page }[] } }>(
        document,
        parent.isConnection ? { query, first: batchSize, offset } : { query },
        { signal },
      );
      const found = answer.upper.nodes[0]?.rows ?? [];
      const rows = Array.isArray(found) ? found : found.nodes;
      const row = rows.find((other) => other.id === id);
      if (row) return row;
      if (!parent.isConnection || rows.length < batchSize) break;
    }
  }
  return null;
}
