import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
} from "graphql";
import type { PgCodecRelation, PgResource } from "postgraphile/@dataplan/pg";
import type { EntityParent, EntityReference, EntityRelation } from "./entityDescription.ts";
import { type Table, type Tags, labelFields, tagText, titleOfRow } from "./labels.ts";
import { databaseName } from "./databaseName.ts";
import { choicesQuery } from "./queryTags.ts";
import { titleOf } from "./rowNames.ts";
import { insideSentence } from "../text/insideSentence.ts";
import { relationField } from "./relationField.ts";
import { didYouMean } from "../text/suggest.ts";
import { TagError } from "./TagError.ts";

/** Tables by the names of their lists. */
export type Named = ReadonlyMap<Table, { name: string }>;

/** A field of another table's type that returns the rows of this table. */
export interface Parent extends EntityParent {
  graphqlField: GraphQLField<unknown, unknown>;
}

/** The references of a table by the column that holds them; null where no list shows the other table. */
export function referencesOf(
  build: GraphileBuild.Build,
  table: Table,
  listed: Named,
): Map<string, EntityReference | null> {
  const found = new Map<string, EntityReference | null>();
  for (const [relationName, relation] of relations(build, table)) {
    const { remoteResource, localAttributes, remoteAttributes, isReferencee, isUnique } = relation;
    const [column] = localAttributes;
    const [key] = remoteAttributes;
    const entity = listed.get(remoteResource as Table)?.name;
    if (isReferencee === true || !isUnique || localAttributes.length !== 1 || column === undefined)
      continue;
    if (key === undefined) continue;
    if (entity === undefined) {
      if (!found.has(column)) found.set(column, null);
      continue;
    }
    const { nameField, detailField, colorField } = labelFields(build, remoteResource as Table);
    found.set(column, {
      entity,
      titleOne: titleOfRow(build, remoteResource as Table),
      field: relationField(build, table, relationName, relation)?.name ?? null,
      keyField: build.inflection.attribute({ attributeName: key, codec: remoteResource.codec }),
      nameField,
      detailField,
      colorField,
      choices: choicesQuery(build, table, column, remoteResource as Table),
    });
  }
  for (const [column, { codec, extensions }] of Object.entries(table.codec.attributes)) {
    const other = tagText(extensions?.tags, "namesOf");
    if (other !== null) {
      const refuse = (why: string) =>
        new TagError(`The tag @namesOf of ${databaseName(table as PgResource)}.${column}: ${why}`);
      if (!codec.arrayOfCodec) throw refuse("the column is no array; declare a foreign key");
      found.set(column, referenceByNames(build, other, listed, refuse));
    }
    if (!found.get(column)) choicesQuery(build, table, column, null);
  }
  return found;
}

/** The reference of an array with the names of rows of another table, which the tag `@namesOf` of its column states. */
function referenceByNames(
  build: GraphileBuild.Build,
  other: string,
  listed: Named,
  refuse: (why: string) => Error,
): EntityReference {
  const tables = new Map(
    [...listed].map(([table, { name }]) => [
      databaseName(table as PgResource),
      { table, entity: name },
    ]),
  );
  const found = tables.get(other);
  if (!found)
    throw refuse(
      `there is no table \`${other}\` with a list in the console${didYouMean(other, [...tables.keys()])}`,
    );
  const { nameField, detailField, colorField } = labelFields(build, found.table);
  return {
    entity: found.entity,
    titleOne: titleOfRow(build, found.table),
    field: null,
    keyField: nameField,
    nameField,
    detailField,
    colorField,
    choices: null,
  };
}

/**
 * The reference of a field without a foreign key, derived from names: `roleIds` of a mutation refers to the rows of the
 * field `roles` of users, `permissionKeys` to those of the field `permissions` of roles, `roleId` of invitations to the
 * row of their field `role`. Null without such a field.
 */
export function referenceByName(
  build: GraphileBuild.Build,
  type: GraphQLObjectType,
  name: string,
  listed: Named,
): EntityReference | null {
  const [, stem = "", suffix = "", plural = ""] = /^(\w+)(Id|Key)(s?)$/.exec(name) ?? [];
  for (const [resource, { name: entity }] of listed) {
    const typeName = build.inflection.tableType(resource.codec);
    if (typeName !== build.inflection.upperCamelCase(stem)) continue;
    const field = Object.values(type.getFields()).find(
      (candidate) =>
        isListType(getNullableType(candidate.type)) === (plural === "s") &&
        (plural === "s" || candidate.name === stem) &&
        getNamedType(candidate.type).name === typeName,
    );
    const { keyField: ownKey, nameField, detailField, colorField } = labelFields(build, resource);
    const keyField = suffix.toLowerCase();
    if (field && (keyField === ownKey || keyField === nameField))
      return {
        entity,
        titleOne: titleOfRow(build, resource),
        field: field.name,
        keyField,
        nameField,
        detailField,
        colorField,
        choices: null,
      };
  }
  return null;
}

/** Whether an argument is named after a type and `Id`, such as `userId` or `toUserId` after `User`. */
export function isIdOf(typeName: string, argumentName: string): boolean {
  const name = `${typeName}Id`;
  return (
    argumentName.endsWith(name) || argumentName === name.charAt(0).toLowerCase() + name.slice(1)
  );
}

/** The reference of an argument to the listed table that its name names; null without one. */
export function referenceOfArgument(
  build: GraphileBuild.Build,
  argumentName: string,
  listed: Named,
): EntityReference | null {
  const [found] = [...listed]
    .filter(([table]) => isIdOf(build.inflection.tableType(table.codec), argumentName))
    // Of `OrderLine` and `Line`, the longer name is meant.
    .toSorted(
      ([a], [b]) =>
        build.inflection.tableType(b.codec).length - build.inflection.tableType(a.codec).length,
    );
  if (!found) return null;
  const [table, { name: entity }] = found;
  const { keyField, nameField, detailField, colorField } = labelFields(build, table);
  if (keyField !== "id") return null;
  const titleOne = titleOfRow(build, table);
  return {
    entity,
    titleOne,
    field: null,
    keyField,
    nameField,
    detailField,
    colorField,
    choices: null,
  };
}

/** The relations of a table in both directions, by name. */
export function relations(
  build: GraphileBuild.Build,
  table: Pick<PgResource, "codec">,
): [string, PgCodecRelation][] {
  const registry = build.input.pgRegistry.pgRelations as Record<
    string,
    Record<string, PgCodecRelation> | undefined
  >;
  return Object.entries(registry[table.codec.name] ?? {});
}

/**
 * The fields that return the rows of a table without a root list, on the types of tables with one. Connections come last,
 * because the other fields return all rows at once.
 */
export function parentsOf(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  table: Table,
  listed: Named,
): Parent[] {
  const found = [...listed].flatMap(([parent, { name }]) =>
    relations(build, parent).flatMap(([relationName, relation]) => {
      if (relation.remoteResource !== table || relation.isReferencee !== true) return [];
      const field = relationField(build, parent, relationName, relation);
      const type = schema.getType(build.inflection.tableType(parent.codec));
      const graphqlField = isObjectType(type) ? type.getFields()[field?.name ?? ""] : undefined;
      const by = referringField(build, relation);
      if (!field || !graphqlField || by === null) return [];
      return [{ entity: name, field: field.name, shape: field.shape, by, graphqlField }];
    }),
  );
  const isLast = ({ shape }: Parent) => Number(shape === "CONNECTION");
  return found.toSorted((a, b) => isLast(a) - isLast(b));
}

/** The field of the referring table that holds the other row's id; null where several columns do. */
function referringField(
  build: GraphileBuild.Build,
  { remoteResource, remoteAttributes }: PgCodecRelation,
): string | null {
  const [attributeName, another] = remoteAttributes;
  if (attributeName === undefined || another !== undefined) return null;
  const { codec } = remoteResource as Table;
  return build.inflection.attribute({ attributeName, codec });
}

interface Places {
  listed: Named;
  all: ReadonlyMap<Table, { name: string; parents: readonly EntityParent[] }>;
}

/** Tables whose rows refer to a row of this one, with the field that holds its id. */
export function relationsOf(
  build: GraphileBuild.Build,
  table: Table,
  { listed, all }: Places,
): EntityRelation[] {
  const own = all.get(table)?.name;
  const found = relations(build, table).flatMap(([relationName, relation]) => {
    const remote = relation.remoteResource as Table;
    const place = all.get(remote);
    const by = referringField(build, relation);
    if (relation.isReferencee !== true || place === undefined || by === null) return [];
    const parent = place.parents.find(({ entity, by: field }) => entity === own && field === by);
    // Rows with a list are found by a query on the reference, other rows through a field of this table.
    const isFound = listed.has(remote)
      ? build.searchTable(remote as PgResource).fields.has(by)
      : parent !== undefined;
    // For rows of the same table, the title comes from the field, such as "Children".
    const ownField =
      remote === table ? relationField(build, table, relationName, relation)?.name : undefined;
    return isFound ? [{ entity: place.name, by, remote, field: parent?.field, ownField }] : [];
  });
  return found.map(({ entity, by, remote, field, ownField }) => {
    const tags = remote.extensions?.tags as Tags | undefined;
    const title =
      ownField === undefined
        ? (tagText(tags, "title") ?? titleOf(field ?? entity))
        : titleOf(ownField);
    const isOnly = found.filter((other) => other.entity === entity).length === 1;
    // If a table refers twice, by `created_by_user_id` and `user_id`, the column distinguishes the relations.
    const beside = isOnly ? "" : ` (${insideSentence(titleOf(by.replace(/Id$/, "")))})`;
    return { field: `${entity}.${by}`, title: `${title}${beside}`, entity, by };
  });
}
