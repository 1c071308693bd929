import { createHash } from "node:crypto";

/**
 * Marks a record's version by all that the service sees of it. The ERP's own mark (`@odata.etag`) would miss what stands in
 * other records, such as an item's category, and change where nothing did that anyone sees.
 */
export function withRevision<Entity extends object>(entity: Entity): Entity & { revision: string } {
  const revision = createHash("sha256").update(JSON.stringify(entity)).digest("base64url");
  return { ...entity, revision };
}
