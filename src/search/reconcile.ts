import { dropVersions } from "./build.ts";
import type { KeySource } from "./parentKeys.ts";
import { tenantKeysAmong, markOf, parentKeyOf } from "./parentKeys.ts";
import type { CollectionState, SearchWork } from "./state.ts";
import { batchSize, readStates } from "./state.ts";

interface StoredKey {
  mark: string;
  generation: number;
  collections: string[];
  engine_id: string;
  retired_at: Date | null;
}

/**
 * Sees to it that the engine has what the database thinks it has: an engine may have lost its data, or got back older ones, while
 * nobody looked. What is missing is made or built anew, what is left over is removed.
 */
export async function reconcile(
  work: SearchWork,
  tenant: string,
  source: KeySource,
): Promise<void> {
  await removeLeftovers(work);
  for (const state of await work.inTenant(readStates)) {
    work.signal.throwIfAborted();
    if (state.version !== null) await checkVersion(work, state, state.version);
  }
  await checkKeys(work, tenant, source);
  // What the engine refused it may take by now: the cause need not have been in the row.
  await work.inTenant((client) => client.query("select retry_search_failures($1)", [batchSize]));
}

async function checkVersion(work: SearchWork, state: CollectionState, version: string) {
  const { engine, inTenant, log } = work;
  if ((await engine.count(version)) === null) {
    log.error({ collection: state.collection }, "the search engine has lost a collection");
    await inTenant((client) => client.query("select request_search_build($1)", [state.type]));
    return;
  }
  if ((await engine.aliased(state.collection)) !== version)
    await engine.setAlias(state.collection, version);
  await dropVersions(engine, state.collection, [version, state.building]);
}

async function checkKeys({ engine, inTenant }: SearchWork, tenant: string, source: KeySource) {
  const mark = markOf(source.apiKey);
  const present = await engine.keys();
  // Keys that were computed from another administration key, or that nobody has noted: they end when what was derived from them has.
  const { rows } = await inTenant(async (client) => {
    for (const key of tenantKeysAmong(present, source, tenant))
      await client.query("select record_unknown_search_key($1, $2, $3, $4)", [
        ...[key.mark, key.generation, key.collections, key.id],
      ]);
    await client.query("select retire_search_keys_but($1)", [mark]);
    return client.query<StoredKey>("select * from known_search_keys()");
  });
  const known = new Set(present.map(({ description }) => description));
  for (const key of rows) {
    if (key.retired_at !== null) {
      if (key.retired_at.getTime() > Date.now()) continue;
      await engine.dropKey(key.engine_id);
      await inTenant((client) => client.query("select delete_search_key($1)", [key.engine_id]));
      continue;
    }
    const parent = parentKeyOf(source, tenant, key.generation, key.collections);
    if (known.has(parent.description)) continue;
    const id = await engine.makeKey({ ...parent, collections: key.collections });
    await inTenant((client) =>
      client.query("select record_search_key($1, $2, $3, $4)", [
        ...[mark, key.generation, key.collections, id],
      ]),
    );
  }
}

/** Removes from the engine what test runs that are over have left there; works in the main tenant. */
export async function removeLeftovers({
  engine,
  inTenant,
}: Pick<SearchWork, "engine" | "inTenant">): Promise<void> {
  const { rows } = await inTenant((client) =>
    client.query<{ kind: string; name: string }>("select * from next_search_leftovers()"),
  );
  for (const { kind, name } of rows) {
    if (kind === "collection") await engine.dropCollection(name);
    else if (kind === "key") await engine.dropKey(name);
    // A run that has begun anew under the same name has its own version behind the alias.
    else if (await leadsNowhere(engine, name)) await engine.dropAlias(name);
    await inTenant((client) => client.query("select delete_search_leftover($1, $2)", [kind, name]));
  }
}

async function leadsNowhere(engine: SearchWork["engine"], alias: string): Promise<boolean> {
  const collection = await engine.aliased(alias);
  return collection !== null && (await engine.count(collection)) === null;
}
