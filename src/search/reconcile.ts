import { dropVersions } from "./build.ts";
import type { KeySource } from "./parentKeys.ts";
import { selectTenantKeys, keyFingerprint, deriveParentKey } from "./parentKeys.ts";
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
 * Compares the engine's collections and keys with the database, because an engine may lose data or be restored from a
 * backup. Rebuilds missing collections and deletes unknown collections and keys.
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
  // Documents that the engine refused are retried: the cause may have been in the engine.
  await work.inTenant((client) => client.query("select retry_search_failures($1)", [batchSize]));
}

async function checkVersion(work: SearchWork, state: CollectionState, version: string) {
  const { engine, inTenant, log } = work;
  if ((await engine.count(version)) === null) {
    log.error({ collection: state.collection }, "search collection missing from the engine");
    await inTenant((client) => client.query("select request_search_build($1)", [state.type]));
    return;
  }
  if ((await engine.aliased(state.collection)) !== version)
    await engine.setAlias(state.collection, version);
  await dropVersions(engine, state.collection, [version, state.building]);
}

async function checkKeys({ engine, inTenant }: SearchWork, tenant: string, source: KeySource) {
  const mark = keyFingerprint(source.apiKey);
  const present = await engine.keys();
  // Records keys of other admin keys and unrecorded keys. They are deleted once all scoped keys derived from them have
  // expired.
  const { rows } = await inTenant(async (client) => {
    for (const key of selectTenantKeys(present, source, tenant))
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
    const parent = deriveParentKey(source, tenant, key.generation, key.collections);
    if (known.has(parent.description)) continue;
    const id = await engine.makeKey({ ...parent, collections: key.collections });
    await inTenant((client) =>
      client.query("select record_search_key($1, $2, $3, $4)", [
        ...[mark, key.generation, key.collections, id],
      ]),
    );
  }
}

/** Deletes what finished test runs left in the engine. Runs in the main tenant. */
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
    // A new test run with the same name may have its own version behind the alias.
    else if (await isDanglingAlias(engine, name)) await engine.dropAlias(name);
    await inTenant((client) => client.query("select delete_search_leftover($1, $2)", [kind, name]));
  }
}

async function isDanglingAlias(engine: SearchWork["engine"], alias: string): Promise<boolean> {
  const collection = await engine.aliased(alias);
  return collection !== null && (await engine.count(collection)) === null;
}
