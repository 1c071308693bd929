import type { Entities, Entity } from "../meta/entities.ts";
import { quoteValue } from "../meta/queryTokens.ts";
import type { Row } from "../meta/rows.ts";
import { ask } from "./ask.ts";
import {
  childRecordDocument,
  profileDocument,
  recordDocument,
  recordsDocument,
} from "./recordDocuments.ts";
import { addReferencedRows } from "./referencedRows.ts";
import { type ChildRows, type Page, pageOfChildRows } from "./rows.ts";

/** Fetches the row `id`; null when it does not exist or the caller may not read it. */
export async function fetchRecord(
  entities: Entities,
  entity: Entity,
  id: string,
  signal?: AbortSignal,
): Promise<Row | null> {
  if (entity.keyField === null) return null;
  const row = await (entity === entities.metadata.profile
    ? fetchProfile(entity, signal)
    : entity.pagesField === null
      ? fetchRecordThroughParents(entities, entity, id, signal)
      : fetchListedRecord(entity, id, signal));
  if (row) await addReferencedRows(entities, entity.fields, [row], signal);
  return row;
}

/** The number of keys in a query, as `suggestionsByKey` has them. */
const keysOfQuery = 50;

/** Fetches rows of a list with all fields, without those that do not exist or that the caller may not read. */
export async function fetchRecords(
  entities: Entities,
  entity: Entity,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<Row[]> {
  const batches = Array.from({ length: Math.ceil(ids.length / keysOfQuery) }, (_, index) =>
    ids.slice(index * keysOfQuery, (index + 1) * keysOfQuery),
  );
  const pages = await Promise.all(
    batches.map((batch) =>
      ask<{ page: Page }>(
        recordsDocument(entity),
        {
          query: `${entity.keyField}:IN(${batch.map(quoteValue).join(", ")})`,
          first: keysOfQuery,
        },
        { signal },
      ),
    ),
  );
  const rows = pages.flatMap(({ page }) => page.nodes);
  await addReferencedRows(entities, entity.fields, rows, signal);
  return rows;
}

async function fetchProfile(entity: Entity, signal?: AbortSignal): Promise<Row | null> {
  return (await ask<{ row: Row | null }>(profileDocument(entity), {}, { signal })).row;
}

async function fetchListedRecord(
  entity: Entity,
  id: string,
  signal?: AbortSignal,
): Promise<Row | null> {
  const answer = await ask<{ row?: Row | null; page?: Page }>(
    recordDocument(entity),
    entity.recordField === null ? { query: `${entity.keyField}:${quoteValue(id)}` } : { id },
    { signal },
  );
  return answer.row ?? answer.page?.nodes[0] ?? null;
}

/** The maximum page size of a connection. */
const batchSize = 250;

/** Fetches a row of a table without a root list through its parent rows, which a query finds by the row's key. */
async function fetchRecordThroughParents(
  entities: Entities,
  entity: Entity,
  id: string,
  signal?: AbortSignal,
): Promise<Row | null> {
  for (const parent of entity.parents) {
    const upper = entities.get(parent.entity);
    if (!upper) continue;
    const document = childRecordDocument(entity, upper, parent);
    const query = `${parent.field}.${entity.keyField}:${quoteValue(id)}`;
    // A list returns all rows. Connections of such tables have no `query` argument, so all pages are searched.
    for (let offset = 0; ; offset += batchSize) {
      const { upper: found } = await ask<ChildRows>(
        document,
        parent.shape === "CONNECTION" ? { query, first: batchSize, offset } : { query },
        { signal },
      );
      const { nodes: rows, isWhole } = pageOfChildRows(parent, found);
      const row = rows.find((other) => other.id === id);
      if (row) return row;
      if (isWhole || rows.length < batchSize) break;
    }
  }
  return null;
}
