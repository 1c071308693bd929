import type { JsonObject } from "./problem.ts";
import type { Schema } from "./schema.ts";
import type { Field } from "./schema.ts";
import { isStringField, scalarOf } from "./schema.ts";
import type { Tokeniser } from "./tokens.ts";

/** A document in a collection. */
export interface StoredDocument {
  /** Its position in the order of insertion. */
  number: number;
  id: string;
  document: JsonObject;
  /** By text field: its values, folded for searching. */
  folded: ReadonlyMap<string, readonly string[]>;
  /** By text field: the words of all its values. */
  words: ReadonlyMap<string, readonly string[]>;
}

export function makeStoredDocument(
  schema: Schema,
  tokeniser: Tokeniser,
  number: number,
  document: JsonObject & { id: string },
): StoredDocument {
  const folded = new Map<string, readonly string[]>();
  const words = new Map<string, readonly string[]>();
  for (const field of schema.fields) {
    if (!isStringField(field) || !field.index) continue;
    const values = valuesOf(document[field.name]).map((value) => tokeniser.words(String(value)));
    if (values.length === 0) continue;
    folded.set(
      field.name,
      values.map((value) => value.join(" ")),
    );
    words.set(field.name, values.flat());
  }
  return { number, id: document.id, document, folded, words };
}

/** The values of a field, which may have none, one or many. */
export function valuesOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** The values of a number field as the index holds them: an `int32` keeps the lowest 32 bits. */
export function numbersOf(field: Field, document: JsonObject): readonly number[] {
  const values = valuesOf(document[field.name]) as readonly number[];
  return scalarOf(field) === "int32" ? values.map((value) => value | 0) : values;
}
