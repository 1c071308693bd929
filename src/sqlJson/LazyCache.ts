import { LRUCache } from "lru-cache";
import { yieldToEventLoop } from "../process/yieldToEventLoop.ts";

/** What was made for the texts asked for last: so many of them, and so much memory as as many usual ones take. */
export class LazyCache<T extends object> {
  readonly #cache: LRUCache<string, T>;

  /** `lengthOf` tells the characters of what is made for a text, beside the text itself. */
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

  /** What there is for a key, or else is made in a turn of its own, after what was found out before, which took a while as well. */
  async get(key: string, make: () => T): Promise<T> {
    const known = this.#cache.get(key);
    if (known) return known;
    await yieldToEventLoop();
    // Another request may have been first.
    let made = this.#cache.get(key);
    if (!made) this.#cache.set(key, (made = make()));
    return made;
  }
}
