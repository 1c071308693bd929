import type { SearchDocument } from "../gateways/search.ts";
import { SearchRefusedError } from "../gateways/search.ts";
import { LostOwnershipError } from "../workers/queue/ownership.ts";
import { requestRedelivery, isMissing, recordDocuments } from "./deliver.ts";
import type { CollectionState, SearchWork } from "./state.ts";
import { batchSize, engineFields, maxBatchAgeMs, readStates } from "./state.ts";

/**
 * Performs one build step towards the tags' definitions: starts a new version of a collection, adds rows to it, or
 * activates it. Changes can be delivered between steps. Collections in `refused` are skipped. Returns false when
 * nothing is left to do.
 */
export async function buildStep(work: SearchWork, refused: Set<string>): Promise<boolean> {
  const states = await work.inTenant(readStates);
  const state = states.find((one) => !refused.has(one.type) && isUnfinished(one));
  if (!state) return false;
  try {
    await advance(work, state);
  } catch (error) {
    // The engine has lost the version, so its build restarts.
    if (state.building !== null && isMissing(error)) await begin(work, state);
    else if (error instanceof SearchRefusedError && error.status !== 401 && error.status !== 403) {
      refused.add(state.type);
      const reason = error.message;
      work.log.error({ collection: state.type, reason }, "search collection build failed");
      await work.inTenant((client) =>
        client.query("select fail_search_build($1, $2)", [state.type, reason]),
      );
    } else throw error;
  }
  return true;
}

function isUnfinished({ definition, wanted, signature, building }: CollectionState): boolean {
  return definition === null || building !== null || signature !== wanted;
}

async function advance(work: SearchWork, state: CollectionState): Promise<void> {
  if (state.definition === null) await dropIndex(work, state);
  else if (state.building === null || state.building_signature !== state.wanted)
    await begin(work, state);
  else await addRows(work, state, state.building);
}

async function begin({ engine, inTenant, log }: SearchWork, state: CollectionState) {
  // Collection names contain no hyphen, so `<collection>-` is a safe prefix for versions.
  const building = `${state.collection}-${Date.now().toString(36)}`;
  await inTenant((client) =>
    client.query("select begin_search_build($1, $2, $3)", [state.type, building, state.wanted]),
  );
  if (state.building !== null) await engine.dropCollection(state.building);
  if (state.definition) await engine.makeCollection(building, engineFields(state.definition));
  log.info({ collection: state.collection, building }, "search collection build started");
}

async function addRows(work: SearchWork, state: CollectionState, building: string): Promise<void> {
  const { engine, inTenant } = work;
  const readAt = performance.now();
  const { ids, documents } = await inTenant(async (client) => {
    const { rows } = await client.query<{ id: string }>(
      "select i as id from search_ids($1, $2, $3) as i",
      [state.type, state.building_cursor, batchSize],
    );
    const found = await client.query<{ document: SearchDocument }>(
      "select document from search_documents($1, $2)",
      [state.type, rows.map(({ id }) => id)],
    );
    return {
      ids: rows.map(({ id }) => id),
      documents: found.rows.map(({ document }) => document),
    };
  });
  if (performance.now() - readAt > maxBatchAgeMs) return;
  const last = ids.at(-1);
  if (last === undefined) return swap(work, state, building);
  // The build may have been recorded by a worker that died before it created the version.
  if (state.building_cursor === null && state.definition)
    await engine.makeCollection(building, engineFields(state.definition));
  const refusals = await engine.put(building, documents);
  try {
    await inTenant(async (client) => {
      await recordDocuments(client, state.type, ids, refusals);
      await client.query("select advance_search_build($1, $2, $3, $4)", [
        ...[state.type, building, last, ids.length],
      ]);
    });
  } catch (error) {
    if (error instanceof LostOwnershipError) await requestRedelivery(work, state.type, ids);
    throw error;
  }
}

/** Points the alias to the new version, then drops the old one. */
async function swap(
  { engine, inTenant, log }: SearchWork,
  state: CollectionState,
  version: string,
) {
  const documents = await engine.count(version);
  if (documents === null && state.definition)
    await engine.makeCollection(version, engineFields(state.definition));
  await inTenant(async () => {});
  await engine.setAlias(state.collection, version);
  await inTenant((client) =>
    client.query("select finish_search_build($1, $2)", [state.type, version]),
  );
  log.info({ collection: state.collection, version, documents }, "search collection activated");
  await dropVersions(engine, state.collection, [version]);
}

async function dropIndex({ engine, inTenant, log }: SearchWork, state: CollectionState) {
  await engine.dropAlias(state.collection);
  await dropVersions(engine, state.collection, []);
  await inTenant((client) => client.query("select delete_search_index($1)", [state.type]));
  log.info({ collection: state.collection }, "search collection dropped");
}

/** Drops the versions of a collection that are not in `keep`. */
export async function dropVersions(
  engine: SearchWork["engine"],
  collection: string,
  keep: readonly (string | null)[],
): Promise<void> {
  for (const name of await engine.collections())
    if (name.startsWith(`${collection}-`) && !keep.includes(name))
      await engine.dropCollection(name);
}
