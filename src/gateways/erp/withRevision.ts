import { createHash } from "node:crypto";

/**
 * Computes a version tag from everything that the service reads. The ERP's own tag (`@odata.etag`) ignores changes in
 * related records, such as an item's category, and changes without a visible difference.
 */
export function withRevision<Entity extends object>(entity: Entity): Entity & { revision: string } {
  const revision = createHash("sha256").update(JSON.stringify(entity)).digest("base64url");
  return { ...entity, revision };
}
