import { makeSharedState } from "../../sharedState.ts";

/** Rows whose deletion can still be undone, and those that are deleted and not yet left out by a list. */
const deleted = makeSharedState<ReadonlySet<string>>(new Set());

const keyOf = (entity: string, id: string): string => `${entity} ${id}`;

/** Marks a row in the lists as deleted, or as kept. */
export function markDeleted(entity: string, id: string, isDeleted: boolean): void {
  const next = new Set(deleted.get());
  if (isDeleted) next.add(keyOf(entity, id));
  else next.delete(keyOf(entity, id));
  deleted.set(next);
}

/** Tells whether a row of a list is marked as deleted. */
export function useDeletedRows(entity: string): (id: string) => boolean {
  const marked = deleted.use();
  return (id) => marked.has(keyOf(entity, id));
}
