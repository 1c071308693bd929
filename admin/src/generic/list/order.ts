import type { EntityField } from "../../meta/entities.ts";

export type Direction = "ascending" | "descending";

/** The value of `orderBy` for `field`, such as `NAME_ASC`; undefined when no index has that order. */
export function orderOf(field: EntityField, direction: Direction): string | undefined {
  const suffix = direction === "ascending" ? "_ASC" : "_DESC";
  return field.orderBy.find((order) => order.endsWith(suffix));
}

/** The direction in which `order` sorts the column of `field`. */
export function directionOf(field: EntityField, order: readonly string[]): Direction | undefined {
  const first = order[0];
  if (first === undefined || !field.orderBy.includes(first)) return undefined;
  return first.endsWith("_ASC") ? "ascending" : "descending";
}

/** The order after a click on the column's title: ascending, then descending, then the list's default. */
export function nextOrder(field: EntityField, order: readonly string[]): string | undefined {
  const direction = directionOf(field, order);
  if (direction === undefined) return orderOf(field, "ascending");
  return direction === "ascending" ? orderOf(field, "descending") : undefined;
}
