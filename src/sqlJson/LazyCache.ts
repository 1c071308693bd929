import { LRUCache } from "lru-cache";
import { yieldToEventLoop } from "../process/yieldToEventLoop.ts";

/** A cache of values computed on demand, bounded by number and by total length of keys and values. */
export class LazyCache<T extends object> {
  readonly #cache: LRUCache<string, T>;

  /** @param lengthOf the length of a value in characters, without its key */
  constructor(size: number, lengthOf: (made: T) => number = () => 0) {
    this.#cache = new LRUCache({
      max: size,
      maxSize: size * 20_000,
      sizeCalculation: (made, key) => key.length + lengthOf(made) + 1,
    });
  }

  has(key: string): boolean {
    return this.#cache.has(key);
  }

  /** Returns the cached value, or yields to the event loop and computes it. */
  async get(key: string, make: () => T): Promise<T> {
    const known = this.#cache.get(key);
    if (known) return known;
    await yieldToEventLoop();
    // Another request may have computed it meanwhile.
    let made = this.#cache.get(key);
    if (!made) this.#cache.set(key, (made = make()));
    return made;
  }
}
