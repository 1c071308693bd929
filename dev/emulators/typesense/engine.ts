import { setImmediate } from "node:timers/promises";
import { alterSchema } from "./alter.ts";
import { Collection } from "./collection.ts";
import type { Write } from "./collection.ts";
import type { JsonObject } from "./problem.ts";
import { EngineProblem } from "./problem.ts";
import { parseSchema } from "./schema.ts";
import { Store } from "./store.ts";
import type { StoredDocument } from "./storedDocument.ts";

const loadBatchSize = 500;

/** Collections and their aliases, in memory and on disk. */
export class Engine {
  readonly store: Store;
  readonly #collections = new Map<string, Collection>();
  readonly #aliases: Map<string, string>;

  private constructor(store: Store) {
    this.store = store;
    this.#aliases = new Map(store.aliases());
  }

  /** Loads the data of the folder. Yields to the event loop between batches. */
  static async open(folder: string): Promise<Engine> {
    const engine = new Engine(new Store(folder));
    for (const { schema, createdAt } of engine.store.collections()) {
      const collection = new Collection(schema, createdAt);
      let loaded = 0;
      for (const { number, document } of engine.store.documents(schema.name)) {
        collection.put(number, document);
        if (++loaded % loadBatchSize === 0) await setImmediate();
      }
      engine.#collections.set(schema.name, collection);
    }
    return engine;
  }

  /** Finds a collection by its name or an alias. @throws EngineProblem when it does not exist */
  collection(name: string): Collection {
    const collection = this.#collections.get(this.#resolve(name));
    if (collection === undefined) throw new EngineProblem(404, "Collection not found");
    return collection;
  }

  /** Newest first, as Typesense lists them. */
  list(): Collection[] {
    return [...this.#collections.values()].reverse();
  }

  /** @throws EngineProblem when the schema is invalid or the name exists */
  create(given: JsonObject): Collection {
    const schema = parseSchema(given);
    if (this.#collections.has(schema.name))
      throw new EngineProblem(409, `A collection with name \`${schema.name}\` already exists.`);
    const collection = new Collection(schema, Math.floor(Date.now() / 1000));
    this.store.saveCollection(schema, collection.createdAt);
    this.#collections.set(schema.name, collection);
    return collection;
  }

  /** Adds and drops fields. Requests use the old collection until the new one is complete. */
  alter(name: string, given: JsonObject): void {
    const collection = this.collection(name);
    const altered = alterSchema(collection, given);
    this.store.saveCollection(altered.schema, altered.createdAt);
    this.#collections.set(altered.schema.name, altered);
  }

  /** @throws EngineProblem when it does not exist */
  drop(name: string): Collection {
    const resolved = this.#resolve(name);
    const collection = this.#collections.get(resolved);
    if (collection === undefined)
      throw new EngineProblem(404, `No collection with name \`${name}\` found.`);
    this.store.transaction(() => this.store.dropCollection(resolved));
    this.#collections.delete(resolved);
    return collection;
  }

  /** @throws EngineProblem when the document does not fit */
  write(collection: Collection, write: Write): StoredDocument {
    const stored = collection.write(write);
    this.store.saveDocument(collection.schema.name, stored);
    return stored;
  }

  /** @throws EngineProblem when there is no such document */
  remove(collection: Collection, id: string): StoredDocument {
    const stored = collection.remove(id);
    this.store.dropDocument(collection.schema.name, stored);
    return stored;
  }

  aliases(): JsonObject[] {
    return [...this.#aliases.keys()].map((name) => this.alias(name));
  }

  /** @throws EngineProblem when it does not exist */
  alias(name: string): JsonObject {
    const collection = this.#aliases.get(name);
    if (collection === undefined) throw new EngineProblem(404, "Collection not found");
    return { collection_name: collection, name };
  }

  /** Switches the alias to another collection at once, so that every search finds one of the two. */
  setAlias(name: string, collection: string): JsonObject {
    if (this.#collections.has(name))
      throw new EngineProblem(500, `Name \`${name}\` conflicts with an existing collection name.`);
    this.store.saveAlias(name, collection);
    this.#aliases.set(name, collection);
    return this.alias(name);
  }

  /** @throws EngineProblem when it does not exist */
  dropAlias(name: string): JsonObject {
    const alias = this.alias(name);
    this.store.dropAlias(name);
    this.#aliases.delete(name);
    return alias;
  }

  #resolve(name: string): string {
    return this.#collections.has(name) ? name : (this.#aliases.get(name) ?? name);
  }
}

/** A collection as Typesense describes it. */
export function describeCollection({ schema, createdAt, size }: Collection): JsonObject {
  return { created_at: createdAt, ...schema, num_documents: size };
}
