import {
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
} from "graphql";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { guardOf } from "../auth/guards.ts";
import { type FoundAction, describeActions, describeArguments } from "./consoleActions.ts";
import type { ConsoleEntity, ConsoleReport } from "./consoleEntity.ts";
import { fieldsOfRows } from "./consoleFields.ts";
import { firstParagraph } from "./fieldProperties.ts";
import type { Named } from "./consoleReferences.ts";
import { headingAndPlace, tagText } from "./labels.ts";
import { titleOf } from "./rowNames.ts";
import { TagError, type TagErrors } from "./TagError.ts";

/**
 * The queries with the tag `@report`, in the order of the navigation.
 * @throws Error when a tagged function cannot be a report
 */
export function reportsOf(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  known: KnownTables,
  errors: TagErrors,
): ConsoleReport[] {
  return Object.values(build.pgResources as Record<string, PgResource>)
    .flatMap((resource) => {
      const tag = resource.parameters ? tagText(resource.extensions?.tags, "report") : null;
      if (tag === null) return [];
      const { heading, place } = headingAndPlace(tag);
      return errors
        .collect(() => reportOf(build, schema, resource, known))
        .map((report) => ({ report: { ...report, group: heading }, place }));
    })
    .toSorted((a, b) => a.place - b.place || a.report.title.localeCompare(b.report.title, "en"))
    .map(({ report }) => report);
}

interface KnownTables {
  entities: readonly ConsoleEntity[];
  listed: Named;
  actions: ReadonlyMap<string, readonly FoundAction[]>;
}

function reportOf(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  resource: PgResource,
  { entities, listed, actions }: KnownTables,
): Omit<ConsoleReport, "group"> {
  const refuse = (why: string) =>
    new TagError(`The tag @report of the function ${resource.name}: ${why}`);
  const field = schema.getQueryType()?.getFields()[build.inflection.camelCase(resource.name)];
  if (!field) throw refuse("it is not a query; a report is `stable` and has a `@guard`");
  const codec = resource.codec as PgCodecWithAttributes;
  const type = getNamedType(field.type);
  const hasRows = isListType(getNullableType(field.type)) && isObjectType(type);
  if (!hasRows || !resource.codec.attributes)
    throw refuse(
      "a report returns rows of a list, such as `returns setof suppliers`, or of a composite type",
    );
  const table = [...listed].find(([one]) => one.codec === codec);
  const entity = table && entities.find(({ name }) => name === table[1].name);
  const fields = entity ? [] : fieldsOfRows(build, codec, type, listed);
  if (!entity && fields.length === 0) throw refuse(`${type.name} has no field that can be shown`);
  const rowFields = entity?.fields ?? fields;
  // The pages of rows of a list offer their actions.
  const found = [
    ...(entity ? [] : (actions.get(type.name) ?? [])),
    ...(actions.get(field.name) ?? []),
  ];
  return {
    field: field.name,
    typeName: type.name,
    title: tagText(resource.extensions?.tags, "title") ?? titleOf(field.name),
    description: firstParagraph(field.description),
    icon: tagText(resource.extensions?.tags, "icon"),
    arguments: describeArguments(build, field.args, entity?.fields ?? [], listed),
    entity: entity?.name ?? null,
    fields,
    actions: describeActions(build, found, new Map(), rowFields, listed),
    guard: guardOf(field as { extensions: object }),
  };
}
