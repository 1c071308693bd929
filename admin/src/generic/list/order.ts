import type { Entity, EntityField } from "../../meta/entities.ts";

export type Direction = "ascending" | "descending";

/** The value of `orderBy` for `field`, such as `NAME_ASC`; undefined when no index has that order. */
export function orderOf(field: EntityField, direction: Direction): string | undefined {
  const suffix = direction === "ascending" ? "_ASC" : "_DESC";
  return field.orderBy.find((order) => order.endsWith(suffix));
}

/** Those of the values of `orderBy` that the list has. */
export function knownOrders(
  { fields, defaultOrder }: Pick<Entity, "fields" | "defaultOrder">,
  names: readonly string[],
): string[] {
  const known = new Set([...defaultOrder, ...fields.flatMap(({ orderBy }) => orderBy)]);
  return names.filter((name) => known.has(name));
}

/** The direction in which `order` sorts the column of `field`. */
export function directionOf(field: EntityField, order: readonly string[]): Direction | undefined {
  const first = order[0];
  if (first === undefined || !field.orderBy.includes(first)) return undefined;
  return first.endsWith("_ASC") ? "ascending" : "descending";
}

/**
 * The order after a click on the column's title: ascending, then descending, then the list's default, which is undefined.
 * Where the default is by this column, its two directions take turns.
 */
export function nextOrder(
  field: EntityField,
  order: readonly string[],
  defaultOrder: readonly string[],
): string | undefined {
  const direction = directionOf(field, order);
  if (direction === "descending" && directionOf(field, defaultOrder) === undefined)
    return undefined;
  const next = orderOf(field, direction === "ascending" ? "descending" : "ascending");
  return next === defaultOrder[0] ? undefined : next;
}
