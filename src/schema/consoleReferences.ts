import { type GraphQLObjectType, getNamedType, getNullableType, isListType } from "graphql";
import type { PgCodecRelation, PgResource } from "postgraphile/@dataplan/pg";
import type { EntityReference, EntityRelation } from "./entityDescription.ts";
import { type Table, type Tags, labelFields, tagText, titleOf } from "./labels.ts";

/** The references of a table by the column that holds them. */
export function referencesOf(
  build: GraphileBuild.Build,
  table: Table,
  names: ReadonlyMap<PgResource, string>,
): Map<string, EntityReference> {
  const found = new Map<string, EntityReference>();
  for (const [relationName, relation] of relations(build, table)) {
    const { remoteResource, localAttributes, remoteAttributes, isReferencee, isUnique } = relation;
    const [column] = localAttributes;
    const [key] = remoteAttributes;
    const entity = names.get(remoteResource as PgResource);
    if (isReferencee === true || !isUnique || localAttributes.length !== 1 || column === undefined)
      continue;
    if (entity === undefined || key === undefined) continue;
    const details = { registry: build.input.pgRegistry, codec: table.codec, relationName };
    const isShown = build.behavior.pgCodecRelationMatches(
      relation as never,
      "singularRelation:resource:single",
    );
    const { nameField, colorField } = labelFields(build, remoteResource as Table);
    found.set(column, {
      entity,
      field: isShown ? build.inflection.singleRelation(details) : null,
      keyField: build.inflection.attribute({ attributeName: key, codec: remoteResource.codec }),
      nameField,
      colorField,
    });
  }
  return found;
}

/**
 * The rows that a list of keys in a mutation's input stands for, when their names say so: `roleIds` beside the field `roles` of
 * users, `permissionKeys` beside the field `permissions` of roles.
 */
export function listReferenceOf(
  build: GraphileBuild.Build,
  type: GraphQLObjectType,
  inputName: string,
  names: ReadonlyMap<PgResource, string>,
): EntityReference | null {
  const [, stem = "", suffix = ""] = /^(\w+)(Id|Key)s$/.exec(inputName) ?? [];
  for (const [resource, entity] of names) {
    const typeName = build.inflection.tableType(resource.codec);
    if (typeName !== build.inflection.upperCamelCase(stem)) continue;
    const field = Object.values(type.getFields()).find(
      (candidate) =>
        isListType(getNullableType(candidate.type)) &&
        getNamedType(candidate.type).name === typeName,
    );
    const { keyField: ownKey, nameField, colorField } = labelFields(build, resource as Table);
    const keyField = suffix.toLowerCase();
    if (field && (keyField === ownKey || keyField === nameField))
      return { entity, field: field.name, keyField, nameField, colorField };
  }
  return null;
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

/** Tables whose rows refer to a row of this one, with the field of their query language that finds them. */
export function relationsOf(
  build: GraphileBuild.Build,
  table: Table,
  names: ReadonlyMap<PgResource, string>,
): EntityRelation[] {
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
    // A table that refers twice, by `created_by_user_id` and by `user_id`: the column tells the relations apart.
    const beside = isOnly ? "" : ` (${titleOf(column.replace(/_id$/, "")).toLowerCase()})`;
    return { field: `${entity}.${by}`, title: `${title}${beside}`, entity, by };
  });
}
