import { type GraphQLArgument, type GraphQLSchema, getNamedType } from "graphql";
import { guardOf } from "../auth/guards.ts";
import { describeArguments } from "./consoleActions.ts";
import type { ConsoleMutation, Verb } from "./consoleEntity.ts";
import { inputFields } from "./consoleFields.ts";
import { useOf } from "./consoleInputs.ts";
import type { Named } from "./consoleReferences.ts";
import type { EntityField } from "./entityDescription.ts";
import { firstParagraph } from "./fieldProperties.ts";
import { bulkResultType, manyMutationName, mostBulkRows } from "./tableMutations.ts";

/** A mutation before its arguments are described. */
export type FoundMutation = Omit<ConsoleMutation, "arguments" | "ownerField"> & {
  args: readonly GraphQLArgument[];
};

/** The arguments that the console fills in by itself, or from the fields of the row. */
const knownArguments = ["id", "input", "ifVersion"];

/**
 * Finds `create<Type>(input)`, or `createMy<Type>(input)` for rows that always belong to the caller, `update<Type>(id,
 * input)` or `delete<Type>(id)`, generated from tags, from a function or by a plugin.
 */
export function findMutation(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  { verb, typeName }: { verb: Verb; typeName: string },
): FoundMutation | null {
  const mutations = schema.getMutationType()?.getFields();
  const ofCaller = verb === "create" ? mutations?.[`createMy${typeName}`] : undefined;
  const field = mutations?.[`${verb}${typeName}`] ?? ofCaller;
  if (!field) return null;
  const argument = (name: string) => field.args.find((arg) => arg.name === name);
  const input = argument("input");
  const returns = getNamedType(field.type).name;
  const fits =
    verb === "delete"
      ? argument("id") !== undefined && input === undefined
      : input !== undefined &&
        returns === typeName &&
        (verb === "create") === (argument("id") === undefined);
  if (!fits) return null;
  return {
    field: field.name,
    inputType: input ? getNamedType(input.type).name : null,
    takesVersion: argument("ifVersion") !== undefined,
    bulk: verb === "create" ? null : findBulkMutation(build, schema, { verb, typeName }),
    guard: guardOf(field as { extensions: object }),
    description: firstParagraph(field.description) ?? "",
    args: field.args.filter(({ name }) => !knownArguments.includes(name)),
  };
}

/** Finds `update<Types>` or `delete<Types>`, generated from tags. */
function findBulkMutation(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  { verb, typeName }: { verb: Exclude<Verb, "create">; typeName: string },
): ConsoleMutation["bulk"] {
  const field = schema.getMutationType()?.getFields()[manyMutationName(build, typeName, verb)];
  return field && getNamedType(field.type).name === bulkResultType
    ? { field: field.name, mostRows: mostBulkRows }
    : null;
}

/** Describes the owner of the rows that a mutation changes, and its other arguments for its form. */
export function describeMutation(
  build: GraphileBuild.Build,
  found: FoundMutation | null,
  { ownerField, fields, listed }: MutationContext,
): ConsoleMutation | null {
  if (!found) return null;
  const { args, ...mutation } = found;
  return { ...mutation, ownerField, arguments: describeArguments(build, args, fields, listed) };
}

interface MutationContext {
  ownerField: string | null;
  fields: readonly EntityField[];
  listed: Named;
}

/** Whether the fields of a form have all values that a mutation requires. */
export function isComplete(
  schema: GraphQLSchema,
  mutation: FoundMutation | null,
  fields: readonly EntityField[],
): boolean {
  return Object.values(inputFields(schema, mutation)).every(
    (input) => useOf(input) !== "REQUIRED" || fields.some(({ name }) => name === input.name),
  );
}
