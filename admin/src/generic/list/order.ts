import type { EntityField } from "../../meta/catalogue.ts";

export type Direction = "ascending" | "descending";

/** The enumeration value that orders by `field`, such as `NAME_ASC`; undefined where no index orders it. */
export function orderOf(field: EntityField, direction: Direction): string | undefined {
  const suffix = direction === "ascending" ? "_ASC" : "_DESC";
  return field.orderBy.find((order) => order.endsWith(suffix));
}

/** How `order` sorts the column of `field`. */
export function directionOf(field: EntityField, order: readonly string[]): Direction | undefined {
  const first = order[0];
  if (first === undefined || !field.orderBy.includes(first)) return undefined;
  return first.endsWith("_ASC") ? "ascending" : "descending";
}

/** The order after a press on the column's title: ascending, descending, the list's own. */
export function nextOrder(field: EntityField, order: readonly string[]): string | undefined {
  const direction = directionOf(field, order);
  if (direction === undefined) return orderOf(field, "ascending");
  return direction === "ascending" ? orderOf(field, "descending") : undefined;
}
