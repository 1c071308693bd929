import {
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isLeafType,
  isNonNullType,
  isRequiredArgument,
} from "graphql";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { guardOf } from "../auth/guards.ts";
import type { ConsoleAction } from "./consoleEntity.ts";
import { titleOf } from "./labels.ts";

/**
 * The mutations with the tag `@action`, by the type of the row that they change, in the order of their names.
 * @throws Error when a tagged function does not change one row
 */
export function actionsByType(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
): Map<string, ConsoleAction[]> {
  const found = new Map<string, ConsoleAction[]>();
  const resources = Object.values(build.pgResources as Record<string, PgResource>);
  for (const resource of resources.toSorted((a, b) => a.name.localeCompare(b.name, "en"))) {
    const tag = resource.parameters && resource.extensions?.tags?.action;
    if (tag === undefined) continue;
    const { typeName, action } = actionOf(build, schema, resource, String(tag));
    found.set(typeName, [...(found.get(typeName) ?? []), action]);
  }
  return found;
}

function actionOf(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  resource: PgResource,
  tag: string,
): { typeName: string; action: ConsoleAction } {
  const refuse = (why: string) =>
    new Error(`The tag @action of the function ${resource.name}: ${why}`);
  const field = schema.getMutationType()?.getFields()[build.inflection.camelCase(resource.name)];
  if (!field) throw refuse("it is not a mutation; an action is `volatile` and has a `@guard`");
  const { attributes } = resource.codec;
  if (!attributes || !resource.isUnique)
    throw refuse("an action returns the row that it changes, such as `returns suppliers`");
  const [argument, ...others] = field.args;
  const isOfRow = argument && getNamedType(argument.type).name === "ID";
  if (!isOfRow || others.some(isRequiredArgument))
    throw refuse("an action takes the id of the row, a uuid, and nothing else that is required");
  const row = getNamedType(field.type) as GraphQLObjectType;
  const condition = conditionOf(build, resource.codec as PgCodecWithAttributes, row, tag);
  if (typeof condition === "string") throw refuse(condition);
  return {
    typeName: getNamedType(field.type).name,
    action: {
      field: field.name,
      argument: argument.name,
      title: titleOf(field.name),
      description: firstSentence(field.description ?? ""),
      isHarmful: /^bad\b/.test(tag),
      ...condition,
      guard: guardOf(field as { extensions: object }),
    },
  };
}

/** The fields named after `if` and `unless` in the tag; an error message when the row has no such field. */
function conditionOf(
  build: GraphileBuild.Build,
  codec: PgCodecWithAttributes,
  row: GraphQLObjectType,
  tag: string,
): Pick<ConsoleAction, "onlyIf" | "unless"> | string {
  const [, word, column = ""] = /\b(if|unless)\s+(\w+)/.exec(tag) ?? [];
  if (word === undefined) return { onlyIf: null, unless: null };
  const name =
    codec.attributes[column] === undefined
      ? build.inflection.camelCase(column)
      : build.inflection.attribute({ attributeName: column, codec });
  const type = row.getFields()[name]?.type;
  const isTruth = type !== undefined && getNamedType(type).name === "Boolean";
  if (!isTruth && (!isLeafType(getNullableType(type)) || isNonNullType(type)))
    return `${column} is no field of the row that is true or false, or that may be empty`;
  return { onlyIf: word === "if" ? name : null, unless: word === "unless" ? name : null };
}

/** The part of the description for users of the console; the rest is for callers of the API. */
function firstSentence(description: string): string {
  const [sentence = ""] = /^.*?\.(?=\s|$)|^.*/.exec(description) ?? [];
  return sentence;
}
