import {
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isObjectType,
} from "graphql";

interface SchemaEntry {
  name: string;
  text: string;
}

/**
 * Returns the schema's documentation of a type, query or mutation; for other input, the names whose documentation
 * contains its words. It is the same for all callers.
 */
export function describeSchema(schema: GraphQLSchema, name: string): Record<string, unknown> {
  const type = schema.getType(name);
  if (type && !name.startsWith("__")) return { type: describeType(type) };
  const field = rootEntries(schema).find((entry) => entry.name === name);
  if (field) return { field };
  const words = name.toLowerCase().split(/\W+/).filter(Boolean).slice(0, 8);
  if (words.length === 0) return { error: "Name a type, a query, a mutation, or some words." };
  const entries = [...rootEntries(schema), ...typeEntries(schema)];
  const found = entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, 12)
    .map(({ entry }) => entry);
  return found.length > 0
    ? { found }
    : { error: "Nothing of the API's documentation has these words." };
}

function scoreOf({ name, text }: SchemaEntry, words: readonly string[]): number {
  const [inName, inText] = [name.toLowerCase(), text.toLowerCase()];
  let score = 0;
  for (const word of words) score += inName.includes(word) ? 3 : inText.includes(word) ? 1 : 0;
  return score;
}

function rootEntries(schema: GraphQLSchema): SchemaEntry[] {
  return [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
    Object.values(type?.getFields() ?? {}).map((field) => ({
      name: field.name,
      text: `${field.args.map((arg) => `${arg.name}: ${String(arg.type)}`).join(", ")} → ${String(field.type)}. ${field.description ?? ""}`,
    })),
  );
}

function typeEntries(schema: GraphQLSchema): SchemaEntry[] {
  return Object.values(schema.getTypeMap())
    .filter(
      (type) =>
        isObjectType(type) &&
        !/^__|Aggregates$|Edge$|Connection$|^(Query|Mutation)$/.test(type.name),
    )
    .map((type) => ({ name: type.name, text: type.description ?? "" }));
}

function describeType(type: GraphQLNamedType): Record<string, unknown> {
  const shown = { name: type.name, description: type.description ?? null };
  if (isEnumType(type)) return { ...shown, values: type.getValues().map(({ name }) => name) };
  if (!isObjectType(type) && !isInputObjectType(type)) return shown;
  const given: (GraphQLField<unknown, unknown> | GraphQLInputField)[] = Object.values(
    type.getFields() as Record<string, GraphQLField<unknown, unknown> | GraphQLInputField>,
  );
  const fields = given.map((field) => ({
    name: field.name,
    type: String(field.type),
    description: field.description ?? null,
  }));
  return { ...shown, fields };
}
