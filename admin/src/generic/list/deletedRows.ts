import { useSyncExternalStore } from "react";

// Rows whose deletion can still be undone, and those that are deleted and not yet left out by a list.
let deleted: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

const keyOf = (entity: string, id: string): string => `${entity} ${id}`;

/** Marks a row in the lists as deleted, or as kept. */
export function markDeleted(entity: string, id: string, isDeleted: boolean): void {
  const next = new Set(deleted);
  if (isDeleted) next.add(keyOf(entity, id));
  else next.delete(keyOf(entity, id));
  deleted = next;
  for (const listener of listeners) listener();
}

/** Tells whether a row of a list is marked as deleted. */
export function useDeletedRows(entity: string): (id: string) => boolean {
  const marked = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => deleted,
  );
  return (id) => marked.has(keyOf(entity, id));
}
