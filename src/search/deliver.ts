import { LostOwnershipError } from "../workers/queue/ownership.ts";
import type { SearchDocument, SearchRefusal } from "../gateways/search.ts";
import { SearchRefusedError } from "../gateways/search.ts";
import type { CollectionState, SearchWork } from "./state.ts";
import { batchSize, maxBatchAgeMs, readStates } from "./state.ts";

/** A row of `search_changes`. */
interface Change {
  collection: string;
  document_id: string;
  change_ids: string[];
  document: SearchDocument | null;
}

/**
 * Sends a batch of pending changes to the active version and to the one being built, then deletes them. Returns the
 * number of documents.
 */
export async function deliverChanges(work: SearchWork): Promise<number> {
  const readAt = performance.now();
  const { states, changes } = await work.inTenant(async (client) => {
    const { rows } = await client.query<Change>("select * from search_changes($1)", [batchSize]);
    return { changes: rows, states: rows.length > 0 ? await readStates(client) : [] };
  });
  for (const [type, group] of Map.groupBy(changes, ({ collection }) => collection)) {
    work.signal.throwIfAborted();
    if (performance.now() - readAt > maxBatchAgeMs) return changes.length;
    const state = states.find((one) => one.type === type);
    if (state) await deliverTo(work, state, group);
  }
  return changes.length;
}

async function deliverTo(
  work: SearchWork,
  state: CollectionState,
  changes: readonly Change[],
): Promise<void> {
  const documents = changes.flatMap(({ document }) => document ?? []);
  const gone = changes.flatMap(({ document, document_id }) => (document ? [] : document_id));
  const refusals: SearchRefusal[] = [];
  let lost = false;
  // Without a version nothing is sent: the first build reads all rows.
  for (const version of [state.version, state.building].filter((name) => name !== null))
    try {
      const refused = await work.engine.put(version, documents);
      await work.engine.remove(version, gone);
      // During a build, refusals of the old version concern the old definition and are ignored.
      if (version === (state.building ?? state.version)) refusals.push(...refused);
    } catch (error) {
      if (!isMissing(error)) throw error;
      lost = true;
    }
  const ids = changes.map(({ document_id }) => document_id);
  try {
    await work.inTenant(async (client) => {
      if (lost) await client.query("select request_search_build($1)", [state.type]);
      await recordDocuments(client, state.type, ids, refusals);
      await client.query("select delete_search_changes($1)", [
        changes.flatMap(({ change_ids }) => change_ids),
      ]);
    });
  } catch (error) {
    // Another worker may have sent newer rows, which this one has overwritten.
    if (error instanceof LostOwnershipError) await requestRedelivery(work, state.type, ids);
    throw error;
  }
  if (refusals.length > 0)
    work.log.error(
      { collection: state.type, refused: refusals.length, first: refusals[0] },
      "search engine rejected documents",
    );
}

/** Whether the engine answered that the collection does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof SearchRefusedError && error.status === 404;
}

/** Queues rows for delivery again, because the engine may hold an older state of them. */
export async function requestRedelivery(
  { reportInTenant }: SearchWork,
  type: string,
  ids: readonly string[],
): Promise<void> {
  await reportInTenant((client) =>
    client.query("select request_search_documents($1, $2)", [type, [...ids]]),
  );
}

export async function recordDocuments(
  client: Parameters<Parameters<SearchWork["inTenant"]>[0]>[0],
  type: string,
  ids: readonly string[],
  refusals: readonly SearchRefusal[],
): Promise<void> {
  await client.query("select record_search_documents($1, $2, $3)", [
    type,
    [...ids],
    JSON.stringify(refusals),
  ]);
}
