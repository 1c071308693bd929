import type { SearchEngine } from "./search.ts";

/**
 * A view of an engine shared by several deployments. Adds the deployment's prefix to collections and aliases in
 * requests and removes it from responses. Searches come from browsers, which use full names.
 */
export function withPrefix(engine: SearchEngine, prefix: string): SearchEngine {
  if (prefix === "") return engine;
  const full = (name: string) => prefix + name;
  const short = (name: string) => name.slice(prefix.length);
  return {
    ...engine,
    collections: async () =>
      (await engine.collections()).filter((name) => name.startsWith(prefix)).map(short),
    makeCollection: (name, fields) => engine.makeCollection(full(name), fields),
    dropCollection: (name) => engine.dropCollection(full(name)),
    count: (name) => engine.count(full(name)),
    async aliased(alias) {
      const collection = await engine.aliased(full(alias));
      return collection?.startsWith(prefix) ? short(collection) : collection;
    },
    setAlias: (alias, collection) => engine.setAlias(full(alias), full(collection)),
    dropAlias: (alias) => engine.dropAlias(full(alias)),
    put: (collection, documents) => engine.put(full(collection), documents),
    remove: (collection, ids) => engine.remove(full(collection), ids),
    present: (collection, ids) => engine.present(full(collection), ids),
    documents: (collection) => engine.documents(full(collection)),
    makeKey: (key) => engine.makeKey({ ...key, collections: key.collections.map(full) }),
  };
}
