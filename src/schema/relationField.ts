import type { PgCodecRelation, PgResource } from "postgraphile/@dataplan/pg";
import type { RelationShape } from "./entityDescription.ts";

/** A field of a table's type with rows that refer to its row, or with the row that it refers to. */
export interface RelationField {
  name: string;
  shape: RelationShape;
}

/** The field that shows the rows of a relation; null where the API shows none. A list counts before a connection. */
export function relationField(
  build: GraphileBuild.Build,
  { codec }: Pick<PgResource, "codec">,
  relationName: string,
  relation: PgCodecRelation,
): RelationField | null {
  const { inflection, behavior } = build;
  const details = { registry: build.input.pgRegistry, codec, relationName } as never;
  const isShown = (scope: string) =>
    behavior.pgCodecRelationMatches(relation as never, scope as never);
  if (relation.isUnique) {
    if (!isShown("singularRelation:resource:single")) return null;
    const name = relation.isReferencee
      ? inflection.singleRelationBackwards(details)
      : inflection.singleRelation(details);
    return { name, shape: "ROW" };
  }
  if (isShown("manyRelation:resource:list"))
    return { name: inflection.manyRelationList(details), shape: "LIST" };
  if (isShown("manyRelation:resource:connection"))
    return { name: inflection.manyRelationConnection(details), shape: "CONNECTION" };
  return null;
}
