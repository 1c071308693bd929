import { checkDocument } from "./documents.ts";
import type { DirtyValues } from "./documents.ts";
import { parseFilter } from "./filter.ts";
import type { Accept } from "./filterClause.ts";
import type { JsonObject } from "./problem.ts";
import { EngineProblem } from "./problem.ts";
import type { TextMatch } from "./ranking.ts";
import type { Schema } from "./schema.ts";
import { isStringField } from "./schema.ts";
import { makeStoredDocument } from "./storedDocument.ts";
import type { StoredDocument } from "./storedDocument.ts";
import { TextIndex } from "./textIndex.ts";
import type { TextQuery } from "./textQuery.ts";
import { makeTokeniser } from "./tokens.ts";
import type { Tokeniser } from "./tokens.ts";

export const writeActions = ["create", "update", "upsert", "emplace"] as const;

/** How a write treats an existing document, and a missing one. */
export type WriteAction = (typeof writeActions)[number];

export interface Write {
  document: JsonObject;
  action: WriteAction;
  dirty: DirtyValues;
  /** The id in the URL, if it has one. */
  id?: string;
}

/** The documents of one collection, and their text index. */
export class Collection {
  readonly schema: Schema;
  /** In seconds since 1970. */
  readonly createdAt: number;
  readonly tokeniser: Tokeniser;
  readonly #byId = new Map<string, StoredDocument>();
  readonly #byNumber = new Map<number, StoredDocument>();
  readonly #text: TextIndex;
  #next = 0;

  constructor(schema: Schema, createdAt: number) {
    this.schema = schema;
    this.createdAt = createdAt;
    this.tokeniser = makeTokeniser(schema.token_separators, schema.symbols_to_index);
    const searched = schema.fields.filter((field) => isStringField(field) && field.index);
    this.#text = new TextIndex(searched.map(({ name }) => name));
  }

  get size(): number {
    return this.#byId.size;
  }

  all(): IterableIterator<StoredDocument> {
    return this.#byNumber.values();
  }

  /** @throws EngineProblem when the id does not exist */
  get(id: string): StoredDocument {
    const stored = this.#byId.get(id);
    if (stored === undefined)
      throw new EngineProblem(404, `Could not find a document with id: ${id}`);
    return stored;
  }

  findText(query: TextQuery): Map<StoredDocument, TextMatch> {
    return this.#text.find(query, this.#byNumber);
  }

  /** @throws EngineProblem when the filter is invalid */
  filter(text: string, checkNames = true): StoredDocument[] {
    const { schema, tokeniser } = this;
    const accept: Accept = parseFilter(text, { schema, tokeniser, checkNames });
    return [...this.all()].filter(accept);
  }

  /**
   * Adds or changes a document.
   * @throws EngineProblem when it does not fit the schema, or when the action does not allow the write
   */
  write({ document: given, action, dirty, id: named }: Write): StoredDocument {
    const id = this.#idOf(given, action, named);
    const known = this.#byId.get(id);
    if (known !== undefined && action === "create")
      throw new EngineProblem(409, `A document with id ${id} already exists.`);
    if (known === undefined && action === "update")
      throw new EngineProblem(404, `Could not find a document with id: ${id}`);
    const merges = action === "update" || action === "emplace";
    const merged = merges && known !== undefined ? { ...known.document, ...given } : given;
    const document = { ...checkDocument(this.schema, merged, dirty), id };
    const number = known?.number ?? this.#next;
    return this.put(number, document);
  }

  /** Stores a document without checks. `number` is its position in the order of insertion. */
  put(number: number, document: JsonObject & { id: string }): StoredDocument {
    const stored = makeStoredDocument(this.schema, this.tokeniser, number, document);
    const known = this.#byId.get(document.id);
    if (known !== undefined) this.#text.remove(known);
    this.#text.add(stored);
    this.#byId.set(stored.id, stored);
    this.#byNumber.set(number, stored);
    this.#next = Math.max(this.#next, number + 1);
    return stored;
  }

  /** @throws EngineProblem when the id does not exist */
  remove(id: string): StoredDocument {
    const stored = this.get(id);
    this.#text.remove(stored);
    this.#byId.delete(id);
    this.#byNumber.delete(stored.number);
    return stored;
  }

  #idOf(given: JsonObject, action: WriteAction, named: string | undefined): string {
    const id = given.id ?? named;
    if (id === undefined) {
      if (action === "update")
        throw new EngineProblem(400, "For update, the `id` key must be provided.");
      return this.#freeId();
    }
    if (typeof id !== "string")
      throw new EngineProblem(400, "Document's `id` field should be a string.");
    if (id === "") throw new EngineProblem(400, "The `id` should not be empty.");
    if (named !== undefined && id !== named)
      throw new EngineProblem(
        400,
        "The `id` of the resource does not match the `id` in the JSON body.",
      );
    return id;
  }

  #freeId(): string {
    let number = this.#next;
    while (this.#byId.has(String(number))) number++;
    return String(number);
  }
}
