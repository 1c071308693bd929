import {
  type GraphQLArgument,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
} from "graphql";
import type { PgCodec, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { guardOf } from "../auth/guards.ts";
import type { ConsoleAction } from "./consoleEntity.ts";
import { fieldsOfRows } from "./consoleFields.ts";
import { fieldOfInput, useOf } from "./consoleInputs.ts";
import { type Named, isIdOf } from "./consoleReferences.ts";
import type { ConsoleArgument, EntityField } from "./entityDescription.ts";
import { firstParagraph, secretFieldOf } from "./fieldProperties.ts";
import { titleOf } from "./rowNames.ts";
import { didYouMean } from "../text/suggest.ts";
import { TagError, type TagErrors } from "./TagError.ts";

/** An action before its arguments are described. */
export type FoundAction = Omit<ConsoleAction, "arguments"> & {
  args: readonly GraphQLArgument[];
  /** The name of the type that the mutation returns. */
  returns: string;
};

/**
 * The mutations with the tag `@action` and those that a plugin gives one, in the order of their names: by the type of the
 * rows in whose list or reports they are offered; those above a report by the name of the report.
 */
export function actionsByType(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  listed: Named,
  errors: TagErrors,
): Map<string, FoundAction[]> {
  const found = new Map<string, FoundAction[]>();
  const tagged = [...taggedFunctions(build), ...taggedFields(build, schema, listed)];
  for (const mutation of tagged.toSorted((a, b) => a.name.localeCompare(b.name, "en")))
    for (const { place, action } of errors.collect(() => actionOf(build, schema, mutation, listed)))
      found.set(place, [...(found.get(place) ?? []), action]);
  return found;
}

interface TaggedMutation {
  /** The name of the function, or of the field of a plugin. */
  name: string;
  fieldName: string;
  tag: string;
  /** What the mutation returns. */
  codec: PgCodec | undefined;
}

function taggedFunctions(build: GraphileBuild.Build): TaggedMutation[] {
  return Object.values(build.pgResources as Record<string, PgResource>).flatMap(
    ({ parameters, extensions, name, codec }) => {
      const tag = parameters && extensions?.tags?.action;
      if (tag === undefined) return [];
      return [{ name, fieldName: build.inflection.camelCase(name), tag: String(tag), codec }];
    },
  );
}

/** The mutations of plugins that state their place with `@scope(action:)`. */
function taggedFields(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  listed: Named,
): TaggedMutation[] {
  const fields = Object.values(schema.getMutationType()?.getFields() ?? {});
  return fields.flatMap(({ name, type, extensions }) => {
    const { action } = (extensions as { office?: { action?: string } }).office ?? {};
    if (action === undefined) return [];
    const typeName = getNamedType(type).name;
    const row = [...listed.keys()].find(
      ({ codec }) => build.inflection.tableType(codec) === typeName,
    );
    return [{ name, fieldName: name, tag: action, codec: row?.codec }];
  });
}

function actionOf(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  { name, fieldName, tag, codec: returned }: TaggedMutation,
  listed: Named,
): { place: string; action: FoundAction } {
  const refuse = (why: string) => new TagError(`The tag @action of the function ${name}: ${why}`);
  const field = schema.getMutationType()?.getFields()[fieldName];
  if (!field) throw refuse("it is not a mutation; an action is `volatile` and has a `@guard`");
  const reports = reportResources(build);
  const [, named = ""] = /\bof\s+(\w+)/.exec(tag) ?? [];
  const report = reports.get(named);
  const codec = report ? (report.codec as PgCodecWithAttributes) : codecOf(returned, named, listed);
  if (codec === undefined) {
    const hint = didYouMean(named, [
      ...[...listed.values()].map(({ name }) => name),
      ...reports.keys(),
    ]);
    throw refuse(
      `an action returns rows of a list, such as \`returns suppliers\`, or names the list or the report, such as \`@action of suppliers\`${hint}`,
    );
  }
  const typeName = build.inflection.tableType(codec);
  const row = schema.getType(typeName) as GraphQLObjectType;
  const rowArgument = field.args.find(
    ({ name, type }) =>
      getNamedType(type).name === "ID" && (name === "id" || isIdOf(typeName, name)),
  );
  const condition = conditionOf(build, codec, row, tag);
  if (typeof condition === "string") throw refuse(condition);
  if (!rowArgument && (condition.onlyIf ?? condition.unless) !== null)
    throw refuse("`if` and `unless` need an argument with the id of the row");
  const version = field.args.find(({ name }) => name === "ifVersion");
  const others = field.args.filter((argument) => argument !== rowArgument && argument !== version);
  if (report && rowArgument && row.getFields()["id"] === undefined)
    throw refuse(`the rows of ${named} have no id`);
  if (others.length === 0 && !rowArgument && named === "")
    throw refuse(
      "an action takes the id of the row, a uuid, or arguments of its own, or names its list, such as `@action of suppliers`",
    );
  const [, flag] = /\bwith\s+(\w+)/.exec(tag) ?? [];
  const booleans = others.filter(({ type }) => getNamedType(type).name === "Boolean");
  const flagged = booleans.find(({ name }) => name === build.inflection.camelCase(flag ?? ""));
  if (flag !== undefined && !flagged) {
    const names = booleans.map(({ name }) => snakeCase(name));
    throw refuse(`${flag} is no Boolean argument${didYouMean(flag, names)}`);
  }
  const args = flagged ? others.filter(isRequiredArgument) : others;
  // The console asks for forms of the actions of lists only: the query for more would exceed its limit.
  if (report && args.some((argument) => argument !== flagged))
    throw refuse("an action of a report takes the id of a row only");
  return {
    place: report && !rowArgument ? named : typeName,
    action: {
      field: field.name,
      argument: rowArgument?.name ?? null,
      takesVersion: version !== undefined,
      title: titleOf(field.name),
      description: firstSentence(field.description ?? ""),
      isHarmful: /^bad\b/.test(tag),
      ...condition,
      args: args.filter((argument) => argument !== flagged),
      returns: getNamedType(field.type).name,
      flags: flagged ? [flagged.name] : [],
      ...resultOf(build, field.type, returned, listed),
      guard: guardOf(field as { extensions: object }),
    },
  };
}

/** What the console shows of the result, unless it is a row of a list. */
function resultOf(
  build: GraphileBuild.Build,
  returned: GraphQLOutputType,
  codec: PgCodec | undefined,
  listed: Named,
): Pick<ConsoleAction, "returnsValue" | "resultFields" | "secretField"> {
  const type = getNamedType(returned);
  const secretField = isObjectType(type) ? secretFieldOf(type) : null;
  const isRow = [...listed.keys()].some((table) => table.codec === codec);
  if (!isObjectType(type) || !codec?.attributes || isRow)
    return { returnsValue: isLeafType(type), resultFields: [], secretField };
  const fields = fieldsOfRows(build, codec as PgCodecWithAttributes, type, listed);
  const resultFields = fields.filter(({ place }) => place !== 0);
  return { returnsValue: false, resultFields, secretField };
}

/** The functions with the tag `@report` that return rows, by the name of the query. */
function reportResources(build: GraphileBuild.Build): Map<string, PgResource> {
  return new Map(
    Object.values(build.pgResources as Record<string, PgResource>)
      .filter(
        ({ parameters, codec, extensions }) =>
          parameters && codec.attributes && extensions?.tags?.report !== undefined,
      )
      .map((resource) => [build.inflection.camelCase(resource.name), resource]),
  );
}

/** The rows in whose list the action is offered: those named after `of` in the tag, otherwise those it returns. */
function codecOf(
  returned: PgCodec | undefined,
  list: string,
  listed: Named,
): PgCodecWithAttributes | undefined {
  if (list === "") return returned?.attributes && (returned as PgCodecWithAttributes);
  return [...listed].find(([, { name }]) => name === list)?.[0].codec;
}

/**
 * Describes the arguments of actions for their forms.
 * @param fieldsByType the fields of the rows of all tables, by the name of their type
 * @param fields the fields of the rows that the actions change
 */
export function describeActions(
  build: GraphileBuild.Build,
  actions: readonly FoundAction[],
  fieldsByType: ReadonlyMap<string, readonly EntityField[]>,
  fields: readonly EntityField[],
  listed: Named,
): ConsoleAction[] {
  return actions.map(({ args, returns, ...action }) => {
    // The input of an action that creates another row, such as an API token of a user, has the fields of that row.
    const rowFields = fieldsByType.get(returns) ?? fields;
    const isNewRow = rowFields !== fields;
    return { ...action, arguments: describeArguments(build, args, rowFields, listed, isNewRow) };
  });
}

/**
 * Describes the arguments of an action or a report for its form. An argument, or a field of an input object, with the
 * name of a field of the row is edited like that field.
 */
export function describeArguments(
  build: GraphileBuild.Build,
  args: readonly GraphQLArgument[],
  fields: readonly EntityField[],
  listed: Named,
  isNewRow = false,
): ConsoleArgument[] {
  return args.map((argument) => {
    const named = getNamedType(argument.type);
    const isObject = isInputObjectType(named) && !isListType(getNullableType(argument.type));
    const inputs = isObject ? Object.values(named.getFields()) : [argument];
    return {
      name: argument.name,
      type: String(argument.type),
      isObject,
      fields: inputs.map((input) => {
        const known = fields.find(({ name }) => name === input.name);
        return {
          ...(known ?? fieldOfInput(build, input, listed)),
          // The generated description of a reference, "The id of the resource", says nothing beside its title.
          ...(isObject && known
            ? {}
            : { description: firstSentence(input.description ?? "") || null }),
          isNullable: !isNonNullType(input.type),
          isInputOnly: true,
          // The function decides what an omitted argument means; the column's default counts for a new row only.
          defaultValue: (isNewRow && known?.defaultValue) || null,
          onCreate: useOf(input),
          onUpdate: "NO" as const,
        };
      }),
    };
  });
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
  const fields = row.getFields();
  const isCondition = (type: GraphQLOutputType) =>
    getNamedType(type).name === "Boolean" ||
    (isLeafType(getNullableType(type)) && !isNonNullType(type));
  const field = fields[name];
  if (!field || !isCondition(field.type)) {
    const names = Object.values(fields)
      .filter(({ type }) => isCondition(type))
      .map((one) => snakeCase(one.name));
    return `${column} is no field of the row that is true or false, or that may be empty${didYouMean(column, names)}`;
  }
  return { onlyIf: word === "if" ? name : null, unless: word === "unless" ? name : null };
}

/** The database name of a field or an argument: `canRetry` becomes `can_retry`. */
const snakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The part of the description for users of the console; the rest is for callers of the API. */
function firstSentence(description: string): string {
  const [sentence = ""] = /^.*?\.(?=\s|$)|^.*/.exec(firstParagraph(description) ?? "") ?? [];
  return sentence;
}
