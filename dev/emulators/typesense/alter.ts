import { Collection } from "./collection.ts";
import { checkDocument } from "./documents.ts";
import type { JsonObject } from "./problem.ts";
import { EngineProblem, isObject } from "./problem.ts";
import type { Field, Schema } from "./schema.ts";
import { parseFields } from "./schema.ts";

/**
 * Returns a copy of the collection with fields added and dropped.
 * @throws EngineProblem for an invalid change, or when a document does not fit
 */
export function alterSchema(collection: Collection, given: JsonObject): Collection {
  const { schema } = collection;
  const names = Object.keys(given);
  if (names.length === 0) throw new EngineProblem(400, "Alter payload is empty.");
  if (names.some((name) => name !== "fields" && name !== "metadata"))
    throw new EngineProblem(400, "Only `fields` and `metadata` can be updated at the moment.");
  const altered: Schema = { ...schema };
  if (given.metadata !== undefined) {
    if (!isObject(given.metadata))
      throw new EngineProblem(400, "The `metadata` value should be an object.");
    altered.metadata = given.metadata;
  }
  if (given.fields !== undefined) altered.fields = alterFields(schema.fields, given.fields);
  const result = new Collection(altered, collection.createdAt);
  for (const { number, id, document } of collection.all())
    result.put(number, { ...fitting(altered, document), id });
  return result;
}

function alterFields(present: readonly Field[], given: unknown): Field[] {
  if (!Array.isArray(given) || given.length === 0 || !given.every(isObject))
    throw new EngineProblem(400, "The `fields` value should be an array of objects.");
  const dropped = new Set<unknown>();
  for (const { name, drop } of given) {
    if (drop === undefined) continue;
    if (drop !== true)
      throw new EngineProblem(400, `Field \`${String(name)}\` must have a drop value of \`true\`.`);
    if (!present.some((field) => field.name === name))
      throw new EngineProblem(400, `Field \`${String(name)}\` is not part of collection schema.`);
    dropped.add(name);
  }
  const kept = present.filter(({ name }) => !dropped.has(name));
  const toAdd = given.filter(({ drop }) => drop === undefined);
  const added = toAdd.length > 0 ? parseFields(toAdd) : [];
  for (const { name } of added)
    if (kept.some((field) => field.name === name))
      throw new EngineProblem(
        400,
        `Field \`${name}\` is already part of the schema: To change this field, drop it first before adding it back to the schema.`,
      );
  return [...kept, ...added];
}

function fitting(schema: Schema, document: JsonObject): JsonObject {
  try {
    return checkDocument(schema, document, "reject");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EngineProblem(
      400,
      `Schema change is incompatible with the type of documents already stored in this collection. ${reason}`,
    );
  }
}
