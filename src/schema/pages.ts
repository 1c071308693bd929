import type { PgResource } from "postgraphile/@dataplan/pg";

type Tagged = Pick<PgResource, "parameters" | "extensions" | "uniques">;

/** Whether the table's list at the root is a connection: the tag `@connection`. */
export function isConnection(resource: Pick<PgResource, "extensions"> | undefined): boolean {
  return resource?.extensions?.tags?.connection !== undefined;
}

/**
 * Whether the rows of a table can be paged through and searched: its list is a connection, or one stands beside the plain list
 * (`userPages` beside `users`), which the tag `@pages off` takes away. Pages need a key.
 */
export function hasPages(resource: Tagged | undefined): boolean {
  if (!resource || resource.parameters) return false;
  if (isConnection(resource)) return true;
  const { read, root, internal, pages } = (resource.extensions?.tags ?? {}) as Record<
    string,
    unknown
  >;
  const isListed = read !== undefined && root !== "off" && internal === undefined;
  return isListed && pages !== "off" && resource.uniques.length > 0;
}
