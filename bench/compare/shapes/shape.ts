import type { Operation } from "../operations.ts";

/** How a server whose shape is its own is asked for an operation. */
export interface Shape {
  document: string;
  /** Makes its variables of those of the published API, where they differ. */
  variables?: (published: never) => Record<string, unknown>;
  /** Brings its answer into the published shape. */
  toPublished: (data: never) => unknown;
}

/** The shapes of all six operations. */
export type Shapes = Record<Operation["key"], Shape>;

interface Role {
  name: string;
  permissions?: { key: string }[];
}

/** Roles in the published order, with their permissions, for a server that cannot order what it nests. */
export function inOrder(roles: readonly Role[]): Role[] {
  return roles
    .map((role) => ({
      ...role,
      ...(role.permissions && { permissions: role.permissions.toSorted(by("key")) }),
    }))
    .toSorted(by("name"));
}

/** As the collation `display_order` of names and e-mail addresses. */
const displayOrder = new Intl.Collator("da", { ignorePunctuation: false });

function by<K extends string>(property: K) {
  return (a: Record<K, string>, b: Record<K, string>) =>
    displayOrder.compare(a[property], b[property]);
}

/** The same for users, which have an email for this. */
export function usersInOrder<T extends { email: string }>(users: readonly T[]): T[] {
  return users.toSorted(by("email"));
}
