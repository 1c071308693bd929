import type { Operation } from "../operations.ts";

/** An operation of a server whose API differs from the published one. */
export interface Shape {
  document: string;
  /** Converts the published API's variables when they differ. */
  variables?: (published: never) => Record<string, unknown>;
  /** Converts its response into the published form. */
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

/** Sorts like the collation `display_order` of names and e-mail addresses. */
const displayOrder = new Intl.Collator("da", { ignorePunctuation: false });

function by<K extends string>(property: K) {
  return (a: Record<K, string>, b: Record<K, string>) =>
    displayOrder.compare(a[property], b[property]);
}

/** The same for users, who are sorted by email. */
export function usersInOrder<T extends { email: string }>(users: readonly T[]): T[] {
  return users.toSorted(by("email"));
}
