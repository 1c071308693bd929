/** A tag that the API cannot follow; the message names the tag, its object and the fix. */
export class TagError extends Error {
  override name = "TagError";
}

/** Collects the mistakes of several tables and functions, so that one refusal names all of them. */
export class TagErrors {
  readonly #messages: string[] = [];

  /** The result of `work` in a list; an empty list when a tag is wrong. */
  collect<T>(work: () => T): [T] | [] {
    try {
      return [work()];
    } catch (error) {
      if (!(error instanceof TagError)) throw error;
      this.#messages.push(error.message);
      return [];
    }
  }

  /** @throws TagError with all messages, when there are any */
  throwIfAny(): void {
    if (this.#messages.length > 0) throw new TagError(this.#messages.join("\n  - "));
  }
}
