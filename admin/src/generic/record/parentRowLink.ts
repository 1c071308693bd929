import type { Entities, Entity } from "../../meta/entities.ts";
import { textOf } from "../../meta/format.ts";
import type { Row } from "../../meta/rows.ts";

/** The parent row of `row`, and its tab that shows the rows of this table; null for tables with a root list. */
export function parentRowLink(
  entities: Entities,
  { name, parents }: Entity,
  row: Row,
): { params: { entity: string; id: string }; search: { tab: string } } | null {
  for (const { entity, by } of parents) {
    const relation = entities
      .get(entity)
      ?.relations.find((other) => other.entity === name && other.by === by);
    const id = textOf(row[by]);
    if (relation && id !== "") return { params: { entity, id }, search: { tab: relation.field } };
  }
  return null;
}
