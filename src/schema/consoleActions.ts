import { type GraphQLSchema, getNamedType, isRequiredArgument } from "graphql";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { guardOf } from "../auth/guards.ts";
import type { CatalogueAction } from "./consoleEntity.ts";
import { titleOf } from "./labels.ts";

/**
 * The mutations with the tag `@action`, by the type of the row that they change, in the order of their names.
 * @throws Error where the tagged function is no action of one row
 */
export function actionsByType(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
): Map<string, CatalogueAction[]> {
  const found = new Map<string, CatalogueAction[]>();
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
): { typeName: string; action: CatalogueAction } {
  const refuse = (why: string) =>
    new Error(`The tag @action of the function ${resource.name}: ${why}`);
  const field = schema.getMutationType()?.getFields()[build.inflection.camelCase(resource.name)];
  if (!field) throw refuse("it is no mutation; an action is `volatile` and has a `@guard`");
  const { attributes } = resource.codec;
  if (!attributes || !resource.isUnique)
    throw refuse("an action returns the row that it changes, such as `returns suppliers`");
  const [argument, ...others] = field.args;
  const isOfRow = argument && getNamedType(argument.type).name === "ID";
  if (!isOfRow || others.some(isRequiredArgument))
    throw refuse("an action takes the id of the row, a uuid, and nothing else that is required");
  const condition = /\b(if|unless)\s+(\w+)/.exec(tag);
  const column = condition?.[2];
  const codec = resource.codec as PgCodecWithAttributes;
  const attribute = column === undefined ? undefined : codec.attributes[column];
  const mayBeEmpty = condition?.[1] === "unless" && attribute && !attribute.notNull;
  if (column !== undefined && attribute?.codec.name !== "bool" && !mayBeEmpty)
    throw refuse(
      `${column} is no column of the row that is true or false${condition?.[1] === "unless" ? ", or that may be empty" : ""}`,
    );
  const conditionField =
    column === undefined ? null : build.inflection.attribute({ attributeName: column, codec });
  return {
    typeName: getNamedType(field.type).name,
    action: {
      field: field.name,
      argument: argument.name,
      title: titleOf(field.name),
      description: firstSentence(field.description ?? ""),
      isHarmful: /^bad\b/.test(tag),
      onlyIf: condition?.[1] === "if" ? conditionField : null,
      unless: condition?.[1] === "unless" ? conditionField : null,
      guard: guardOf(field as { extensions: object }),
    },
  };
}

/** The sentence that people read before they choose; the others are for callers of the API. */
function firstSentence(description: string): string {
  const [sentence = ""] = /^.*?\.(?=\s|$)|^.*/.exec(description) ?? [];
  return sentence;
}
