import type { JsonObject } from "./problem.ts";
import { EngineProblem, isObject } from "./problem.ts";

const scalarTypes = ["string", "int32", "int64", "float", "bool"] as const;

export type ScalarType = (typeof scalarTypes)[number];

/** A field of a collection, with all properties that Typesense shows. */
export interface Field {
  name: string;
  type: ScalarType | `${ScalarType}[]`;
  facet: boolean;
  index: boolean;
  infix: boolean;
  locale: string;
  optional: boolean;
  sort: boolean;
  stem: boolean;
  stem_dictionary: string;
  store: boolean;
  symbols_to_index: readonly string[];
  token_separators: readonly string[];
}

export interface Schema {
  name: string;
  fields: readonly Field[];
  default_sorting_field: string;
  enable_nested_fields: boolean;
  symbols_to_index: readonly string[];
  token_separators: readonly string[];
  metadata?: JsonObject;
}

export function scalarOf({ type }: Field): ScalarType {
  return type.replace("[]", "") as ScalarType;
}

export function isArrayField({ type }: Field): boolean {
  return type.endsWith("[]");
}

export function isStringField(field: Field): boolean {
  return scalarOf(field) === "string";
}

/** Parses the body of a request to create a collection. @throws EngineProblem naming the invalid property */
export function parseSchema(given: JsonObject): Schema {
  const { name, fields, default_sorting_field: defaultSort = "", metadata } = given;
  if (name === undefined) throw new EngineProblem(400, "Parameter `name` is required.");
  if (typeof name !== "string" || name === "")
    throw new EngineProblem(400, "Parameter `name` must be a non-empty string.");
  if (fields === undefined) throw new EngineProblem(400, "Parameter `fields` is required.");
  if (typeof defaultSort !== "string")
    throw new EngineProblem(400, "`default_sorting_field` should be a string.");
  if (metadata !== undefined && !isObject(metadata))
    throw new EngineProblem(400, "The `metadata` value should be an object.");
  if (given.enable_nested_fields === true)
    throw new EngineProblem(
      400,
      "`enable_nested_fields` is not supported by the Typesense emulator.",
    );
  const schema: Schema = {
    name,
    fields: parseFields(fields),
    default_sorting_field: defaultSort,
    enable_nested_fields: false,
    symbols_to_index: parseSymbols(given, "symbols_to_index"),
    token_separators: parseSymbols(given, "token_separators"),
  };
  if (metadata !== undefined) schema.metadata = metadata;
  if (defaultSort !== "") checkDefaultSort(schema);
  return schema;
}

function checkDefaultSort({ fields, default_sorting_field: wanted }: Schema): void {
  const field = fields.find(({ name }) => name === wanted);
  if (field === undefined)
    throw new EngineProblem(
      400,
      `Default sorting field is defined as \`${wanted}\` but is not found in the schema.`,
    );
  if (isArrayField(field) || !field.sort)
    throw new EngineProblem(
      400,
      `Default sorting field \`${wanted}\` is not a sortable type. It should be a number or a string field with sorting enabled.`,
    );
}

/** @throws EngineProblem naming the field */
export function parseFields(given: unknown): Field[] {
  const wrong =
    "The `fields` value should be an array of objects containing `name`, `type` and optionally, `facet` properties.";
  if (!Array.isArray(given) || given.length === 0 || !given.every(isObject))
    throw new EngineProblem(400, wrong);
  const fields = given.map(parseField);
  const names = new Set<string>();
  for (const { name } of fields) {
    if (names.has(name))
      throw new EngineProblem(400, `There are duplicate field names in the schema: \`${name}\`.`);
    names.add(name);
  }
  return fields;
}

function parseField(given: JsonObject): Field {
  const { name, type } = given;
  if (typeof name !== "string" || typeof type !== "string" || name === "" || name === "id")
    throw new EngineProblem(
      400,
      "Wrong format for `fields`. It should be an array of objects containing `name`, `type`, `optional` and `facet` properties.",
    );
  if (!isType(type))
    throw new EngineProblem(
      400,
      `Field \`${name}\` has an invalid data type \`${type}\`, see docs for supported data types.`,
    );
  const flag = (key: string, fallback: boolean): boolean => {
    const value = given[key] ?? fallback;
    if (typeof value === "boolean") return value;
    throw new EngineProblem(
      400,
      `The \`${key}\` property of the field \`${name}\` should be a boolean.`,
    );
  };
  const isNumber = !type.startsWith("string");
  return {
    name,
    type,
    facet: flag("facet", false),
    index: flag("index", true),
    infix: flag("infix", false),
    locale: typeof given.locale === "string" ? given.locale : "",
    optional: flag("optional", false),
    sort: flag("sort", isNumber),
    stem: flag("stem", false),
    stem_dictionary: "",
    store: flag("store", true),
    symbols_to_index: [],
    token_separators: [],
  };
}

function isType(type: string): type is Field["type"] {
  return scalarTypes.some((scalar) => type === scalar || type === `${scalar}[]`);
}

function parseSymbols(given: JsonObject, key: string): string[] {
  const value = given[key] ?? [];
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string" && one.length === 1))
    throw new EngineProblem(400, `\`${key}\` should be an array of character symbols.`);
  return value as string[];
}
