import {
  type GraphQLEnumType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";
import type { PgCodecRelation, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { type Guard, guardOf, parseGuard, permissionKeys, readGuard } from "../auth/guards.ts";
import { hasPages } from "./pages.ts";
import { isHidden } from "./columns.ts";

/** A table as the `console` query describes it, before it is filtered for a caller. */
export interface CatalogueEntity {
  name: string;
  typeName: string;
  title: string;
  titleOne: string;
  description: string | null;
  group: string | null;
  icon: string | null;
  keyField: string;
  nameField: string;
  detailField: string | null;
  colorField: string | null;
  listField: string;
  pagesField: string;
  recordField: string | null;
  defaultOrder: string[];
  guard: Guard;
  mutations: Record<Verb, CatalogueMutation | null>;
  hasHistory: boolean;
  fields: CatalogueField[];
  relations: CatalogueRelation[];
}

export type Verb = "create" | "update" | "delete";

export interface CatalogueMutation {
  field: string;
  inputType: string | null;
  takesVersion: boolean;
  guard: Guard;
  description: string;
}

export interface CatalogueField {
  name: string;
  title: string;
  description: string | null;
  kind: FieldKind;
  widget: string | null;
  unit: string | null;
  values: { value: string; title: string; tone: string | null }[];
  reference: CatalogueReference | null;
  isList: boolean;
  isNullable: boolean;
  isInputOnly: boolean;
  onCreate: FieldUse;
  onUpdate: FieldUse;
  maxLength: number | null;
  orderBy: string[];
  searchName: string | null;
  place: number | null;
  section: string | null;
}

type FieldKind =
  "TEXT" | "INTEGER" | "DECIMAL" | "BOOLEAN" | "DATE" | "TIME" | "ENUM" | "REFERENCE" | "JSON";

type FieldUse = "NO" | "OPTIONAL" | "REQUIRED";

export interface CatalogueReference {
  entity: string;
  field: string | null;
  nameField: string;
  colorField: string | null;
}

export interface CatalogueRelation {
  field: string;
  title: string;
  entity: string;
  by: string;
}

type Tags = Readonly<Record<string, unknown>>;
type Table = PgResource<string, PgCodecWithAttributes>;

/** Kinds of the scalars; others are shown as text. */
const scalarKinds: Readonly<Record<string, FieldKind>> = {
  Int: "INTEGER",
  BigInt: "INTEGER",
  Float: "DECIMAL",
  BigFloat: "DECIMAL",
  Boolean: "BOOLEAN",
  Date: "DATE",
  DateTime: "TIME",
  JSON: "JSON",
};

/** Columns that name a row to people, where no tag @label says it. */
const usualNames = ["name", "title", "email", "number", "key", "label"];

/** A heading without a number stands after all that have one. */
const lastPlace = 10_000;

const tagText = (tags: Tags | undefined, name: string): string | null => {
  const value = tags?.[name];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
};

/** "wine_types" and "bottleSize" as people write them: "Wine types", "Bottle size". */
export function titleOf(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase()
    // Abbreviations that people write in capitals.
    .replace(/\b(id|erp|url|ai|api)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** All tables that have a list at the root, in the order of the navigation. */
export function makeCatalogue(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
): CatalogueEntity[] {
  const tables = Object.values(build.pgResources as Record<string, PgResource>).filter(
    (resource): resource is Table =>
      isTable(resource) && rootList(build, schema, resource) !== null,
  );
  const names = new Map(tables.map((table) => [table, rootList(build, schema, table)?.name ?? ""]));
  return tables
    .map((table) => ({ table, tags: table.extensions?.tags }))
    .map(({ table, tags }) => ({
      entity: entityOf(build, schema, table, names),
      place: placeInNavigation(tags),
    }))
    .toSorted((a, b) => a.place - b.place || a.entity.title.localeCompare(b.entity.title, "en"))
    .map(({ entity }) => entity);
}

function isTable(resource: PgResource): resource is Table {
  return !resource.parameters && resource.codec.attributes !== undefined;
}

/** `@group Catalogue 10`: the heading, and the place in the navigation. */
function groupOf(tags: Tags | undefined): { heading: string | null; place: number } {
  const match = /^(.*?)(?:\s+(\d+))?$/.exec(tagText(tags, "group") ?? "");
  return {
    heading: match?.[1] === undefined || match[1] === "" ? null : match[1],
    place: match?.[2] === undefined ? lastPlace : Number(match[2]),
  };
}

const placeInNavigation = (tags: Tags | undefined): number => groupOf(tags).place;

interface RootList {
  /** The name of the table in addresses and for `searchFields`. */
  name: string;
  list: string;
  pages: string;
}

/** The root fields that list the rows of a table; null where it has none, or no pages. */
function rootList(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  table: Table,
): RootList | null {
  const fields = schema.getQueryType()?.getFields() ?? {};
  const tags = table.extensions?.tags as Tags | undefined;
  if (readGuard(tags) === undefined || tags?.["root"] === "off") return null;
  const connection = build.inflection.allRowsConnection(table as never);
  const list = build.inflection.allRowsList(table as never);
  if (fields[list] === undefined || fields[connection] === undefined || !hasPages(table))
    return null;
  return { name: list, list, pages: connection };
}

function entityOf(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  table: Table,
  names: ReadonlyMap<PgResource, string>,
): CatalogueEntity {
  const root = rootList(build, schema, table);
  if (!root) throw new Error(`${table.name} has no list`);
  const tags = table.extensions?.tags as Tags | undefined;
  const typeName = build.inflection.tableType(table.codec);
  const type = objectType(schema, typeName);
  const mutations = {
    create: mutationOf(schema, "create", typeName),
    update: mutationOf(schema, "update", typeName),
    delete: mutationOf(schema, "delete", typeName),
  };
  const fields = fieldsOf(build, schema, { table, type, mutations, list: root.list, names });
  return {
    name: root.name,
    typeName,
    title: tagText(tags, "title") ?? titleOf(root.name),
    titleOne: tagText(tags, "titleOne") ?? titleOf(typeName),
    description: table.codec.description ?? table.description ?? null,
    group: groupOf(tags).heading,
    icon: tagText(tags, "icon"),
    ...labelFields(build, table),
    listField: root.list,
    pagesField: root.pages,
    recordField: recordField(build, schema, table),
    defaultOrder: defaultOrder(build, schema, table, root.list),
    guard: parseGuard(readGuard(tags)) ?? [],
    mutations,
    hasHistory:
      schema.getQueryType()?.getFields()["recordHistory"] !== undefined &&
      tagText(tags, "audit")?.startsWith("off") !== true,
    fields,
    relations: relationsOf(build, table, names),
  };
}

function objectType(schema: GraphQLSchema, name: string): GraphQLObjectType {
  const type = schema.getType(name);
  if (!isObjectType(type)) throw new Error(`The schema has no object type ${name}`);
  return type;
}

/** The field that finds one row by its id. */
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
      args[0]?.name === "id",
  );
  return found?.name ?? null;
}

/** `create<Type>(input)`, `update<Type>(id, input)`, `delete<Type>(id)`: made from the table's tags, or by functions. */
function mutationOf(schema: GraphQLSchema, verb: Verb, typeName: string): CatalogueMutation | null {
  const field = schema.getMutationType()?.getFields()[`${verb}${typeName}`];
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
    guard: guardOf(field as { extensions: object }),
    description: (field.description ?? "").split("\n")[0] ?? "",
  };
}

/** The columns that identify and name a row of a table. */
export interface LabelColumns {
  /** The id, or the only column of another key, or the name. */
  key: string;
  /** The tag `@label`, or a column with a usual name. */
  name: string;
  detail: string | null;
  color: string | null;
}

/** Which columns identify and name a row. @throws Error where the tag `@label` names no column */
export function labelColumns(resource: PgResource): LabelColumns {
  const { attributes } = resource.codec as PgCodecWithAttributes;
  const columns = Object.entries(attributes)
    .filter(([, attribute]) => !isHidden(attribute))
    .map(([name]) => name);
  const label = tagText(resource.extensions?.tags, "label");
  const [first, second] = label?.split(/[\s,]+/) ?? [];
  const wrong = [first, second].find((name) => name !== undefined && !columns.includes(name));
  if (wrong !== undefined)
    throw new Error(`The tag @label of ${resource.name} names ${wrong}, which is no column of it`);
  const name =
    first ??
    usualNames.find((usual) => columns.includes(usual)) ??
    columns.find((column) => usualNames.some((usual) => column.endsWith(`_${usual}`))) ??
    (columns.includes("id") ? "id" : columns[0]);
  if (name === undefined) throw new Error(`${resource.name} has no column that the API shows`);
  const keys = resource.uniques.filter(({ attributes: key }) => key.length === 1);
  const key = keys.find(({ isPrimary }) => isPrimary) ?? keys[0];
  const color = columns.find(
    (column) =>
      tagText(attributes[column]?.extensions?.tags as Tags | undefined, "widget") === "color",
  );
  return {
    key: columns.includes("id") ? "id" : (key?.attributes[0] ?? name),
    name,
    detail: second ?? null,
    color: color ?? null,
  };
}

/** The same as fields of the API. */
function labelFields(build: GraphileBuild.Build, table: Table) {
  const { codec } = table;
  const { key, name, detail, color } = labelColumns(table as PgResource);
  const apiName = (attributeName: string) => build.inflection.attribute({ attributeName, codec });
  return {
    keyField: apiName(key),
    nameField: apiName(name),
    detailField: detail === null ? null : apiName(detail),
    colorField: color === null ? null : apiName(color),
  };
}

interface FieldsContext {
  table: Table;
  type: GraphQLObjectType;
  mutations: Record<Verb, CatalogueMutation | null>;
  list: string;
  names: ReadonlyMap<PgResource, string>;
}

function fieldsOf(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  { table, type, mutations, list, names }: FieldsContext,
): CatalogueField[] {
  const { codec } = table;
  const shown = type.getFields();
  const orders = orderValues(schema, list);
  const searched = build.searchTable(table as PgResource).fields;
  const references = referencesOf(build, table, names);
  const inputs = {
    create: inputFields(schema, mutations.create),
    update: inputFields(schema, mutations.update),
  };
  const known = new Set<string>();
  const columns = Object.entries(codec.attributes).flatMap(([attributeName, attribute]) => {
    const name = build.inflection.attribute({ attributeName, codec });
    const field = shown[name];
    known.add(name);
    if (!field || isHidden(attribute) || name === "id") return [];
    const tags = attribute.extensions?.tags as Tags | undefined;
    const reference = references.get(attributeName) ?? null;
    const constant = build.inflection.constantCase(attributeName);
    return [
      {
        ...typed(field, tags),
        name,
        // "The id of the wine type" says nothing beside the other row's name.
        ...(reference ? { description: attribute.description ?? null } : {}),
        title: tagText(tags, "title") ?? titleOf(reference ? name.replace(/Id$/, "") : name),
        kind: reference ? ("REFERENCE" as const) : kindOf(field.type),
        reference,
        isInputOnly: false,
        maxLength: attribute.extensions?.maxLength ?? null,
        onCreate: useOf(inputs.create[name]),
        onUpdate: useOf(inputs.update[name]),
        orderBy: orders.filter((order) => order.replace(/_(ASC|DESC)$/, "") === constant),
        searchName: searched.has(name) ? name : null,
        place: placeInList(tags, attributeName),
      },
    ];
  });
  // Values of inputs that no column holds, such as the ids of a user's roles.
  const others = Object.values({ ...inputs.update, ...inputs.create })
    .filter(({ name }) => !known.has(name))
    .map((input) => ({
      ...typed(input, undefined),
      name: input.name,
      title: titleOf(input.name),
      kind: kindOf(input.type),
      reference: null,
      isInputOnly: true,
      maxLength: null,
      onCreate: useOf(inputs.create[input.name]),
      onUpdate: useOf(inputs.update[input.name]),
      orderBy: [],
      searchName: null,
      place: 0,
    }));
  return [...columns, ...others];
}

/** What the type of a field and its tags say. */
function typed(field: GraphQLField<unknown, unknown> | GraphQLInputField, tags: Tags | undefined) {
  const named = getNamedType(field.type);
  return {
    description: firstParagraph(field.description),
    widget: tagText(tags, "widget"),
    unit: tagText(tags, "unit"),
    values: isEnumType(named) ? valuesOf(named, tags) : [],
    isList: isListType(getNullableType(field.type)),
    isNullable: !isNonNullType(field.type),
    section: tagText(tags, "section"),
  };
}

function kindOf(type: GraphQLType): FieldKind {
  const named = getNamedType(type);
  return isEnumType(named) ? "ENUM" : (scalarKinds[named.name] ?? "TEXT");
}

/** `@tone CANCELLED bad` at the column. */
function valuesOf(type: GraphQLEnumType, tags: Tags | undefined): CatalogueField["values"] {
  const given = tags?.["tone"];
  const lines = Array.isArray(given) ? given.map(String) : typeof given === "string" ? [given] : [];
  const tones = new Map(
    lines.map((line) => {
      const [value = "", tone = ""] = line.trim().split(/\s+/);
      return [value, tone];
    }),
  );
  return type.getValues().map(({ name }) => ({
    value: name,
    title: titleOf(name.toLowerCase()),
    tone: tones.get(name) ?? null,
  }));
}

/** `@list 3` or `@list off`. Times of creation are hidden where nothing is said. */
function placeInList(tags: Tags | undefined, column: string): number | null {
  const list = tagText(tags, "list");
  if (list === "off") return 0;
  if (list !== null) return Number(list);
  return column === "created_at" ? 0 : null;
}

function useOf(input: GraphQLInputField | undefined): FieldUse {
  if (!input) return "NO";
  return isNonNullType(input.type) && input.defaultValue === undefined ? "REQUIRED" : "OPTIONAL";
}

function inputFields(
  schema: GraphQLSchema,
  mutation: CatalogueMutation | null,
): Record<string, GraphQLInputField> {
  const type = mutation?.inputType == null ? undefined : schema.getType(mutation.inputType);
  return isInputObjectType(type) ? type.getFields() : {};
}

/** The values of the list's argument `orderBy`. */
function orderValues(schema: GraphQLSchema, list: string): string[] {
  const field = schema.getQueryType()?.getFields()[list];
  const type = field?.args.find(({ name }) => name === "orderBy")?.type;
  const named = type && getNamedType(type);
  return isEnumType(named) ? named.getValues().map(({ name }) => name) : [];
}

/** The table's own order as `orderBy` takes it. */
function defaultOrder(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  table: Table,
  list: string,
): string[] {
  const text = tagText(table.extensions?.tags, "defaultOrder");
  const known = orderValues(schema, list);
  return (text ?? "")
    .split(",")
    .map((part) => {
      const [column = "", direction = "asc"] = part.trim().split(/\s+/);
      return `${build.inflection.constantCase(column)}_${direction.toUpperCase()}`;
    })
    .filter((order) => known.includes(order));
}

/** The references of a table by the column that holds them. */
function referencesOf(
  build: GraphileBuild.Build,
  table: Table,
  names: ReadonlyMap<PgResource, string>,
): Map<string, CatalogueReference> {
  const found = new Map<string, CatalogueReference>();
  for (const [relationName, relation] of relations(build, table)) {
    const { remoteResource, localAttributes, isReferencee, isUnique } = relation;
    const [column] = localAttributes;
    const entity = names.get(remoteResource as PgResource);
    if (isReferencee === true || !isUnique || localAttributes.length !== 1 || column === undefined)
      continue;
    if (entity === undefined) continue;
    const details = { registry: build.input.pgRegistry, codec: table.codec, relationName };
    const isShown = build.behavior.pgCodecRelationMatches(
      relation as never,
      "singularRelation:resource:single",
    );
    const { nameField, colorField } = labelFields(build, remoteResource as Table);
    found.set(column, {
      entity,
      field: isShown ? build.inflection.singleRelation(details) : null,
      nameField,
      colorField,
    });
  }
  return found;
}

function relations(build: GraphileBuild.Build, table: Table): [string, PgCodecRelation][] {
  const registry = build.input.pgRegistry.pgRelations as Record<
    string,
    Record<string, PgCodecRelation> | undefined
  >;
  return Object.entries(registry[table.codec.name] ?? {});
}

/** Tables whose rows refer to a row of this one, with the field of their query language that finds them. */
function relationsOf(
  build: GraphileBuild.Build,
  table: Table,
  names: ReadonlyMap<PgResource, string>,
): CatalogueRelation[] {
  const found = relations(build, table).flatMap(([, relation]) => {
    const { remoteResource, remoteAttributes, isReferencee } = relation;
    const remote = remoteResource as Table;
    const entity = names.get(remote as PgResource);
    const [column] = remoteAttributes;
    if (isReferencee !== true || entity === undefined || column === undefined) return [];
    if (remoteAttributes.length !== 1) return [];
    const by = build.inflection.attribute({ attributeName: column, codec: remote.codec });
    if (!build.searchTable(remote as PgResource).fields.has(by)) return [];
    return [{ entity, by, column, remote }];
  });
  return found.map(({ entity, by, column, remote }) => {
    const tags = remote.extensions?.tags as Tags | undefined;
    const title = tagText(tags, "title") ?? titleOf(entity);
    const isOnly = found.filter((other) => other.entity === entity).length === 1;
    // `created_by_user_id` of one's own table beside `user_id`: the column tells them apart.
    const beside = isOnly ? "" : ` (${titleOf(column.replace(/_id$/, "")).toLowerCase()})`;
    return { field: `${entity}.${by}`, title: `${title}${beside}`, entity, by };
  });
}

function firstParagraph(description: string | null | undefined): string | null {
  return description?.split("\n\n")[0]?.replaceAll("\n", " ") ?? null;
}

/** The permission that a guard asks for, for messages; null where it asks for a login only. */
export function permissionOf(guard: Guard): string | null {
  return typeof guard === "string" ? null : (permissionKeys(guard)[0] ?? null);
}
