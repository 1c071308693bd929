import { LostOwnershipError } from "../workers/queue/ownership.ts";
import type { SearchDocument, SearchRefusal } from "../gateways/search.ts";
import { SearchRefusedError } from "../gateways/search.ts";
import type { CollectionState, SearchWork } from "./state.ts";
import { batchSize, freshMs, readStates } from "./state.ts";

/** A row of `search_changes`. */
interface Change {
  collection: string;
  document_id: string;
  change_ids: string[];
  document: SearchDocument | null;
}

/**
 * Tells the engine of the oldest changes that wait, in the version that serves and in the one that is being built; only then are they
 * forgotten. Returns how many documents they were about.
 */
export async function deliver(work: SearchWork): Promise<number> {
  const readAt = performance.now();
  const { states, changes } = await work.inTenant(async (client) => {
    const { rows } = await client.query<Change>("select * from search_changes($1)", [batchSize]);
    return { changes: rows, states: rows.length > 0 ? await readStates(client) : [] };
  });
  for (const [type, group] of Map.groupBy(changes, ({ collection }) => collection)) {
    work.signal.throwIfAborted();
    if (performance.now() - readAt > freshMs) return changes.length;
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
  // Without a version nothing is to be told: the first one will be built of all rows as they are then.
  for (const version of [state.version, state.building].filter((name) => name !== null))
    try {
      const refused = await work.engine.put(version, documents);
      await work.engine.remove(version, gone);
      // Where a new version is being built, the old one's refusals are those of old fields.
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
    // Someone else has told the engine meanwhile, perhaps of newer rows, and this has put older ones over them.
    if (error instanceof LostOwnershipError) await askAgain(work, state.type, ids);
    throw error;
  }
  if (refusals.length > 0)
    work.log.error(
      { collection: state.type, refused: refusals.length, first: refusals[0] },
      "the search engine would not take some documents",
    );
}

/** Whether what the engine was asked about is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof SearchRefusedError && error.status === 404;
}

/** Has rows told to the engine again, whose latest state may not have been the last that it was told. */
export async function askAgain(
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
