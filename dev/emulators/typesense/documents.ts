import type { JsonObject } from "./problem.ts";
import { EngineProblem } from "./problem.ts";
import type { Field, ScalarType, Schema } from "./schema.ts";
import { isArrayField, scalarOf } from "./schema.ts";

const dirtyActions = ["reject", "coerce_or_reject", "coerce_or_drop", "drop"] as const;

/** How to handle a value of the wrong type. */
export type DirtyValues = (typeof dirtyActions)[number];

export function parseDirtyValues(given: string | undefined): DirtyValues {
  return dirtyActions.find((action) => action === given?.toLowerCase()) ?? "reject";
}

const nouns: Readonly<Record<ScalarType, [one: string, many: string]>> = {
  string: ["a string", "an array of string"],
  int32: ["an int32", "an array of int32"],
  int64: ["an int64", "an array of int64"],
  float: ["a float", "an array of float"],
  bool: ["a bool", "an array of bool"],
};

/**
 * Returns the document with values of the types in the schema.
 * @throws EngineProblem naming a field that is missing or of another type
 */
export function checkDocument(schema: Schema, given: JsonObject, dirty: DirtyValues): JsonObject {
  const document: JsonObject = { ...given };
  for (const field of schema.fields) {
    const value = document[field.name];
    // Null in an optional field means no value.
    if (value == null && field.optional) {
      Reflect.deleteProperty(document, field.name);
      continue;
    }
    if (!(field.name in document) || value === undefined)
      throw new EngineProblem(
        400,
        `Field \`${field.name}\` has been declared in the schema, but is not found in the document.`,
      );
    const fitting = fitValue(field, value, dirty);
    if (fitting === undefined) Reflect.deleteProperty(document, field.name);
    else document[field.name] = fitting;
  }
  return document;
}

function fitValue(field: Field, value: unknown, dirty: DirtyValues): unknown {
  const scalar = scalarOf(field);
  if (!isArrayField(field)) return fitScalar(field, scalar, value, dirty);
  if (Array.isArray(value))
    return value
      .map((one) => fitScalar(field, scalar, one, dirty))
      .filter((one) => one !== undefined);
  const single = dirty.startsWith("coerce") ? coerce(scalar, value) : undefined;
  if (single !== undefined) return [single];
  dropOrRefuse(field, dirty, `Field \`${field.name}\` must be an array.`);
  return undefined;
}

function fitScalar(field: Field, scalar: ScalarType, value: unknown, dirty: DirtyValues): unknown {
  if (isOf(scalar, value)) return value;
  const coerced = dirty.startsWith("coerce") ? coerce(scalar, value) : undefined;
  if (coerced !== undefined) return coerced;
  const noun = nouns[scalar][isArrayField(field) ? 1 : 0];
  dropOrRefuse(field, dirty, `Field \`${field.name}\` must be ${noun}.`);
  return undefined;
}

/** Returns if the value may be dropped, and throws otherwise. */
function dropOrRefuse(field: Field, dirty: DirtyValues, message: string): void {
  const drops = dirty === "drop" || dirty === "coerce_or_drop";
  if (drops && (field.optional || isArrayField(field))) return;
  throw new EngineProblem(400, message);
}

function isOf(scalar: ScalarType, value: unknown): boolean {
  switch (scalar) {
    case "string":
      return typeof value === "string";
    case "bool":
      return typeof value === "boolean";
    case "float":
      return typeof value === "number";
    // A whole number beyond 32 bits is accepted for an `int32` as well; the index holds its lowest 32 bits.
    case "int32":
    case "int64":
      return Number.isInteger(value);
  }
}

function coerce(scalar: ScalarType, value: unknown): unknown {
  if (scalar === "string")
    return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
  if (scalar === "bool") {
    if (value === 1 || value === "true" || value === "1") return true;
    return value === 0 || value === "false" || value === "0" ? false : undefined;
  }
  const number =
    typeof value === "boolean"
      ? Number(value)
      : typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value)
        ? Number(value)
        : value;
  if (typeof number !== "number") return undefined;
  const wanted = scalar === "float" ? number : Math.trunc(number);
  if (scalar === "int32" && wanted !== (wanted | 0)) return undefined;
  return isOf(scalar, wanted) ? wanted : undefined;
}
