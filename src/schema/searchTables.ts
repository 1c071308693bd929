import type { PgCodecRelation, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { type SQL, sql } from "postgraphile/pg-sql2";
import type { ListFilter, SearchField, SearchRelation, SearchTable } from "../query/searchTable.ts";
import { type Tags, tagText } from "./labels.ts";
import { relationField } from "./relationField.ts";
import { valuesOf } from "./searchValues.ts";
import { databaseName } from "./databaseName.ts";

/** Returns the searchable fields of a table, read once from the catalogue as the request role sees it. */
export function makeSearchTables(
  build: GraphileBuild.Build,
): (resource: PgResource) => SearchTable {
  const tables = new Map<PgResource, SearchTable>();
  const tableOf = (resource: PgResource): SearchTable => {
    const known = tables.get(resource);
    if (known) return known;
    const words = wordsColumn(build, resource);
    const fields = new Map([...columnsOf(build, resource), ...computedOf(build, resource)]);
    const table: SearchTable = {
      name: resource.name,
      from: resource.from as SQL,
      ...(words && { words }),
      fields,
      // A relation of the row itself has precedence.
      relations: new Map([
        ...joinedRelationsOf(build, resource, tableOf).filter(([name]) => !fields.has(name)),
        ...relationsOf(build, resource, tableOf),
      ]),
      filters: new Map(filtersOf(resource)),
    };
    tables.set(resource, table);
    return table;
  };
  return tableOf;
}

/** The generated column with the text of all word columns; the schema lint ensures that it has exactly these. */
function wordsColumn(build: GraphileBuild.Build, resource: PgResource) {
  const attributes = (resource.codec as PgCodecWithAttributes).attributes;
  const { tags, canSelect } = attributes["search_words"]?.extensions ?? {};
  if (tags?.["internal"] === undefined || canSelect === false) return null;
  return (row: SQL) => build.sql`${row}.search_words`;
}

function columnsOf(build: GraphileBuild.Build, resource: PgResource): [string, SearchField][] {
  const codec = resource.codec as PgCodecWithAttributes;
  const within = wordsColumn(build, resource);
  return Object.entries(codec.attributes).flatMap(([name, attribute]) => {
    const tags: Tags = attribute.extensions?.tags ?? {};
    const readable =
      attribute.extensions?.canSelect !== false &&
      tags.secret === undefined &&
      tags.internal === undefined &&
      build.behavior.pgCodecAttributeMatches([codec, name], "attribute:select");
    const field = valuesOf(build, attribute.codec);
    if (!readable || !field || attribute.via) return [];
    const search = wordsOf(tags.search);
    const allowed = field.kind !== "text" ? [] : field.list ? ["exact"] : ["word", "exact"];
    if (search.some((word) => !allowed.includes(word)))
      throw new Error(
        `The tag @search of ${resource.name}.${name} is "${search.join(" ")}"; a text column can have "word" or "exact", a list of texts "exact".`,
      );
    const column = build.sql.identifier(name);
    const { cast, ...values } = field;
    const searched = {
      ...values,
      kind: search.includes("exact") ? ("exact" as const) : values.kind,
      word: search.includes("word"),
      ...(within && search.join(" ") === "word" && { within }),
      read: (row: SQL) => cast(build.sql`${row}.${column}`),
      ...titleTag(tags),
      ...(attribute.description ? { description: attribute.description } : {}),
    };
    return [[build.inflection.attribute({ attributeName: name, codec }), searched]];
  });
}

/** Functions of a row that return one value: fields of the row in the API. */
function computedOf(build: GraphileBuild.Build, table: PgResource): [string, SearchField][] {
  return Object.values(build.pgResources as Record<string, PgResource>).flatMap((resource) => {
    const { parameters, extensions, isUnique, isMutation } = resource;
    const [parameter, second] = parameters ?? [];
    const field = valuesOf(build, resource.codec);
    if (parameter?.codec !== table.codec || second || !isUnique || isMutation || !field) return [];
    if (extensions?.tags?.computed === undefined || extensions.canExecute === false) return [];
    const callee = build.sql.identifier(databaseName(resource));
    const { cast, ...values } = field;
    const searched = {
      ...values,
      word: false,
      read: (row: SQL) => cast(build.sql`${callee}(${row}.*)`),
      ...titleTag(extensions.tags),
      ...(resource.description ? { description: resource.description } : {}),
    };
    const name = build.inflection.computedAttributeField({ resource: resource as never });
    return [[name, searched]];
  });
}

function relationsOf(
  build: GraphileBuild.Build,
  resource: PgResource,
  tableOf: (resource: PgResource) => SearchTable,
): [string, SearchRelation][] {
  return registeredRelations(build, resource).flatMap(([relationName, relation]) => {
    const { remoteResource } = relation;
    if (!isReadable(remoteResource) || isInternal(remoteResource)) return [];
    const field = relationField(build, resource, relationName, relation);
    if (field === null) return [];
    const [column = "", ...others] = relation.isReferencee ? [] : relation.localAttributes;
    const { attributes } = resource.codec as PgCodecWithAttributes;
    const related: SearchRelation = {
      table: () => tableOf(remoteResource),
      many: !relation.isUnique,
      join: joinCondition(relation),
      ...(others.length === 0 && titleTag(attributes[column]?.extensions?.tags)),
    };
    return [[field.name, related]];
  });
}

/**
 * The rows that join tables lead to, by the name of their list, such as `roles` of users. Several join tables with the
 * same list are left out: the name would not tell which of them is meant.
 */
function joinedRelationsOf(
  build: GraphileBuild.Build,
  resource: PgResource,
  tableOf: (resource: PgResource) => SearchTable,
): [string, SearchRelation][] {
  const found = registeredRelations(build, resource).flatMap(([, toJoin]) => {
    const joins = toJoin.remoteResource;
    if (!toJoin.isReferencee || !isReadable(joins)) return [];
    return registeredRelations(build, joins).flatMap(([, onward]) => {
      const { remoteResource } = onward;
      const columns = [...toJoin.remoteAttributes, ...onward.localAttributes];
      if (onward.isReferencee || !isPrimaryKey(joins, columns)) return [];
      if (!isReadable(remoteResource) || isInternal(remoteResource)) return [];
      const through = { name: joins.name, from: joins.from as SQL, join: joinCondition(toJoin) };
      const joined: SearchRelation = {
        table: () => tableOf(remoteResource),
        many: true,
        join: joinCondition(onward),
        through,
      };
      return [[build.inflection.allRowsList(remoteResource as never), joined] as const];
    });
  });
  return [...Map.groupBy(found, ([name]) => name)].flatMap(([name, [only, ...others]]) =>
    only && others.length === 0 ? [[name, only[1]]] : [],
  );
}

const registeredRelations = (
  { input }: GraphileBuild.Build,
  { codec }: PgResource,
): [string, PgCodecRelation][] =>
  Object.entries(
    (input.pgRegistry.pgRelations[codec.name] ?? {}) as Record<string, PgCodecRelation>,
  );

const isReadable = ({ extensions }: PgResource): boolean =>
  extensions?.canSelect !== false && extensions?.tags?.read !== undefined;
const isInternal = ({ extensions }: PgResource): boolean =>
  extensions?.tags?.internal !== undefined;

/** Whether the primary key has exactly these columns. */
function isPrimaryKey({ uniques }: PgResource, columns: readonly string[]): boolean {
  const key = uniques.find(({ isPrimary }) => isPrimary)?.attributes ?? [];
  return key.length === columns.length && key.every((column) => columns.includes(column));
}

function joinCondition({ localAttributes, remoteAttributes }: PgCodecRelation) {
  return (row: SQL, related: SQL): SQL =>
    sql.join(
      localAttributes.map((local, index) => {
        const remote = remoteAttributes[index] ?? "";
        return sql`${related}.${sql.identifier(remote)} = ${row}.${sql.identifier(local)}`;
      }),
      " and ",
    );
}

/** The arguments of the tags `@filter <argument> <condition>`. */
function filtersOf({ extensions }: PgResource): [string, ListFilter][] {
  return [extensions?.tags?.filter ?? []].flat().map((tag) => {
    const [, argument = "", condition = ""] = /^(\w+)\s+(.*)$/.exec(String(tag)) ?? [];
    return [argument, { condition }];
  });
}

function titleTag(tags: Tags | undefined): { title?: string } {
  const title = tagText(tags, "title");
  return title === null ? {} : { title };
}

function wordsOf(tag: unknown): string[] {
  return typeof tag === "string" ? tag.split(/[\s,]+/).filter(Boolean) : [];
}
