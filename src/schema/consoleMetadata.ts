import {
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
} from "graphql";
import type { PgResource } from "postgraphile/@dataplan/pg";
import { auditedKey } from "./auditedType.ts";
import { actionsByType, describeActions } from "./consoleActions.ts";
import type {
  ConsoleAction,
  ConsoleEntity,
  ConsoleMutation,
  ConsoleReport,
  Verb,
} from "./consoleEntity.ts";
import { fieldsOf } from "./consoleFields.ts";
import { orderValues } from "./consoleInputs.ts";
import { describeMutation, findMutation, isComplete } from "./consoleMutations.ts";
import type { ConsoleArgument, EntityField } from "./entityDescription.ts";
import { type Parent, parentsOf, relationsOf } from "./consoleReferences.ts";
import { reportsOf } from "./consoleReports.ts";
import { secretFieldOf } from "./fieldProperties.ts";
import { defaultQuery, rejectDefaultQuery } from "./queryTags.ts";
import {
  type Table,
  type Tags,
  headingAndPlace,
  labelColumns,
  labelFields,
  listWidget,
  tagText,
  titleOfRow,
} from "./labels.ts";
import { titleOf, withoutNull } from "./rowNames.ts";
import { hasPages, historyGuard, tableGuard } from "./listedTables.ts";
import { changesOnlyOwnRows, hasOwnRows, ownerColumns } from "./ownerTags.ts";
import { TagError, TagErrors } from "./TagError.ts";

/**
 * The tables with a root list, in the order of the navigation, and their child tables without one, such as prices; and
 * the reports.
 * @throws TagError with the mistakes of all tables and actions, or of all reports
 */
export function buildConsoleMetadata(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
): { entities: ConsoleEntity[]; reports: ConsoleReport[] } {
  const places = placesOf(build, schema);
  const errors = new TagErrors();
  for (const table of tablesOf(build))
    if (!places.listed.has(table)) errors.collect(() => rejectDefaultQuery(table));
  const actions = actionsByType(build, schema, places.listed, errors);
  const described = [...places.all]
    .flatMap(([table, place]) =>
      errors
        .collect(() => entityOf(build, schema, { table, place, places }))
        .map((entity) => ({ entity, place: groupOf(table.extensions?.tags).place })),
    )
    .toSorted((a, b) => a.place - b.place || a.entity.title.localeCompare(b.entity.title, "en"))
    .map(({ entity }) => entity);
  errors.throwIfAny();
  const fieldsByType = new Map(described.map(({ typeName, fields }) => [typeName, fields]));
  const entities = described.map((entity) => {
    const found = actions.get(entity.typeName) ?? [];
    return {
      ...entity,
      actions: describeActions(build, found, fieldsByType, entity.fields, places.listed),
    };
  });
  const known = { entities, listed: places.listed, actions };
  const reports = reportsOf(build, schema, known, errors);
  errors.throwIfAny();
  const offering = new Set([
    ...entities.map(({ typeName }) => typeName),
    ...reports.flatMap(({ typeName, field }) => [typeName, field]),
  ]);
  for (const [place, [first]] of actions)
    if (!offering.has(place))
      throw new TagError(`The tag @action of ${first?.field}: ${place} has no list`);
  return withLists(entities, reports);
}

/** Adds the lists as values of the fields that hold the name of a list. */
function withLists(
  entities: readonly ConsoleEntity[],
  reports: readonly ConsoleReport[],
): { entities: ConsoleEntity[]; reports: ConsoleReport[] } {
  const values = entities
    .filter(({ listField }) => listField !== null)
    .map(({ name, title }) => ({ value: name, title, tone: null }));
  const inFields = <F extends EntityField>(fields: readonly F[]) =>
    fields.map((field) =>
      field.widget === listWidget ? { ...field, kind: "ENUM" as const, values } : field,
    );
  const inArguments = (args: readonly ConsoleArgument[]) =>
    args.map((argument) => ({ ...argument, fields: inFields(argument.fields) }));
  const inMutation = (mutation: ConsoleMutation | null) =>
    mutation && { ...mutation, arguments: inArguments(mutation.arguments) };
  const inActions = (actions: readonly ConsoleAction[]) =>
    actions.map((action) => ({ ...action, arguments: inArguments(action.arguments) }));
  return {
    entities: entities.map((entity) => ({
      ...entity,
      fields: inFields(entity.fields),
      mutations: {
        create: inMutation(entity.mutations.create),
        update: inMutation(entity.mutations.update),
        delete: inMutation(entity.mutations.delete),
      },
      actions: inActions(entity.actions),
    })),
    reports: reports.map((report) => ({
      ...report,
      arguments: inArguments(report.arguments),
      actions: inActions(report.actions),
      fields: inFields(report.fields),
    })),
  };
}

const tablesOf = (build: GraphileBuild.Build): Table[] =>
  Object.values(build.pgResources as Record<string, PgResource>).filter(isTable);

function isTable(resource: PgResource): resource is Table {
  return !resource.parameters && resource.codec.attributes !== undefined;
}

const groupOf = (tags: Tags | undefined) => headingAndPlace(tagText(tags, "group") ?? "");

interface RootList {
  list: string;
  pages: string;
}

/** The fields of the API that return the rows of a table. */
interface Place {
  /** The name of the table in URLs and for `searchFields`. */
  name: string;
  root: RootList | null;
  parents: readonly Parent[];
}

interface Places {
  listed: ReadonlyMap<Table, Place>;
  all: ReadonlyMap<Table, Place>;
}

/** Finds the fields of the API that return the rows of each table. */
function placesOf(build: GraphileBuild.Build, schema: GraphQLSchema): Places {
  const all = tablesOf(build);
  const listed = new Map(
    all.flatMap((table) => {
      const root = rootList(build, schema, table);
      return root === null ? [] : [[table, { name: root.list, root, parents: [] }] as const];
    }),
  );
  const below = new Map(
    all
      .filter((table) => !listed.has(table))
      .map((table) => [table, parentsOf(build, schema, table, listed)] as const)
      .filter(([, parents]) => parents.length > 0)
      .map(([table, parents]) => {
        const name = build.inflection.allRowsList(table as never);
        return [table, { name, root: null, parents }] as const;
      }),
  );
  return { listed, all: new Map<Table, Place>([...listed, ...below]) };
}

/** The root list of a table and its connection; null unless it has both. */
function rootList(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  table: Table,
): RootList | null {
  const fields = schema.getQueryType()?.getFields() ?? {};
  const connection = build.inflection.allRowsConnection(table as never);
  const list = build.inflection.allRowsList(table as never);
  if (fields[list] === undefined || fields[connection] === undefined || !hasPages(table))
    return null;
  return { list, pages: connection };
}

function entityOf(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  { table, place, places }: { table: Table; place: Place; places: Places },
): Omit<ConsoleEntity, "actions"> {
  const { name, root, parents } = place;
  const tags = table.extensions?.tags as Tags | undefined;
  const typeName = build.inflection.tableType(table.codec);
  const type = objectType(schema, typeName);
  const mutations = {
    create: findMutation(build, schema, { verb: "create", typeName }),
    update: findMutation(build, schema, { verb: "update", typeName }),
    delete: findMutation(build, schema, { verb: "delete", typeName }),
  };
  const label = labelFields(build, table);
  const { key } = labelColumns(build, table as PgResource);
  const orders = orderValues(rootField(schema, root?.list) ?? parents[0]?.graphqlField);
  const fields = fieldsOf(build, schema, { table, type, mutations, orders, listed: places.listed });
  const owner = hasOwnRows(tags) ? ownerField(build, table, fields) : null;
  const describe = (verb: Verb) =>
    describeMutation(build, mutations[verb], {
      ownerField: verb !== "create" && changesOnlyOwnRows(tags, verb) ? owner : null,
      fields,
      listed: places.listed,
    });
  return {
    name,
    typeName,
    title: tagText(tags, "title") ?? titleOf(name),
    titleOne: titleOfRow(build, table),
    description: withoutNull(table.codec.description ?? table.description ?? "") || null,
    group: groupOf(tags).heading,
    icon: tagText(tags, "icon"),
    ...label,
    secretField: secretFieldOf(type),
    listField: root?.list ?? null,
    pagesField: root?.pages ?? null,
    recordField: recordField(build, schema, table),
    defaultOrder: defaultOrder(build, table, orders),
    defaultQuery: defaultQuery(build, table),
    guard: tableGuard(table),
    historyGuard: historyGuard(table),
    hasOwnRows: hasOwnRows(tags),
    ownerField: owner,
    mutations: {
      // A form cannot create rows with a required value that it has no editor for, such as a range.
      create: isComplete(schema, mutations.create, fields) ? describe("create") : null,
      update: describe("update"),
      delete: describe("delete"),
    },
    hasHistory:
      label.keyField !== null &&
      key !== null &&
      auditedKey(table as PgResource, key) !== null &&
      schema.getQueryType()?.getFields()["recordHistory"] !== undefined &&
      tagText(tags, "audit")?.startsWith("off") !== true,
    historyOwnerField: null,
    fields,
    relations: relationsOf(build, table, places),
    parents: parents.map(({ entity, field, shape, by }) => ({ entity, field, shape, by })),
  };
}

/** The field with the user to whom a row belongs; null where the API does not show it. */
function ownerField(
  build: GraphileBuild.Build,
  table: Table,
  fields: readonly EntityField[],
): string | null {
  const [attributeName = ""] = ownerColumns(table.extensions?.tags);
  const name = build.inflection.attribute({ attributeName, codec: table.codec });
  return fields.some((field) => field.name === name) ? name : null;
}

function rootField(schema: GraphQLSchema, name: string | undefined) {
  return name === undefined ? undefined : schema.getQueryType()?.getFields()[name];
}

function objectType(schema: GraphQLSchema, name: string): GraphQLObjectType {
  const type = schema.getType(name);
  if (!isObjectType(type)) throw new Error(`The schema has no object type ${name}`);
  return type;
}

/** The field that finds one row by its id. Rows with an id of another type are found by a search, as by other keys. */
function recordField(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  table: Table,
): string | null {
  const fields = Object.values(schema.getQueryType()?.getFields() ?? {});
  const typeName = build.inflection.tableType(table.codec);
  const found = fields.find(
    ({ type, args }) =>
      getNamedType(type).name === typeName &&
      !isListType(getNullableType(type)) &&
      args.length === 1 &&
      args[0]?.name === "id" &&
      getNamedType(args[0].type).name === "ID",
  );
  return found?.name ?? null;
}

/** The table's default order as values of `orderBy`. */
function defaultOrder(
  build: GraphileBuild.Build,
  table: Table,
  known: readonly string[],
): string[] {
  const text = tagText(table.extensions?.tags, "defaultOrder");
  return (text ?? "")
    .split(",")
    .map((part) => {
      const [column = "", direction = "asc"] = part.trim().split(/\s+/);
      return `${build.inflection.constantCase(column)}_${direction.toUpperCase()}`;
    })
    .filter((order) => known.includes(order));
}
