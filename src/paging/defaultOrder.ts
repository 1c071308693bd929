import type { PgResource } from "postgraphile/@dataplan/pg";

/** One column of an order. */
export interface OrderColumn {
  attribute: string;
  direction: "ASC" | "DESC";
}

/**
 * The order of a table's rows where a caller names none: that of the table's tag, `@defaultOrder scheduled_at desc, id`, made
 * unique by the primary key.
 * Throws when the tag cannot be read or names a column that the table does not have.
 */
export function defaultOrder(resource: PgResource): OrderColumn[] {
  const { defaultOrder: order } = resource.extensions?.tags ?? {};
  const attributes = (resource.codec.attributes ?? {}) as Record<string, unknown>;
  const columns = typeof order === "string" ? order.split(",").map((part) => part.trim()) : [];
  if (order !== undefined && columns.length === 0) throw wrong(resource, "names no column");
  const named = columns.map((column): OrderColumn => {
    const [, attribute = "", direction = "asc"] = /^(\w+)(?:\s+(asc|desc))?$/i.exec(column) ?? [];
    if (attribute === "")
      throw wrong(resource, `has "${column}" where a column, with asc or desc, belongs`);
    if (!Object.hasOwn(attributes, attribute))
      throw wrong(resource, `names the column ${attribute}, which the table does not have`);
    return { attribute, direction: direction.toLowerCase() === "desc" ? "DESC" : "ASC" };
  });
  return [...named, ...missingKey(resource, named)];
}

/**
 * An order without what comes again: rows that differ in a column are in order, and the others are the same there. So there are never
 * more than the table has, and what is made of an order, such as the condition of a cursor, has an end.
 */
export function eachOnce(order: readonly OrderColumn[]): OrderColumn[] {
  const seen = new Set<string>();
  return order.filter(({ attribute }) => seen.size < seen.add(attribute).size);
}

/** The columns that make an order unique: none where it is, else those of the primary key that it lacks. */
export function missingKey(resource: PgResource, order: readonly OrderColumn[]): OrderColumn[] {
  const names = new Set(order.map(({ attribute }) => attribute));
  if (isUniqueBy(resource, names)) return [];
  // In the direction of the first column, so that one index serves both.
  const direction = order[0]?.direction ?? "ASC";
  const key = resource.uniques.find((unique) => unique.isPrimary)?.attributes ?? [];
  return key.filter((name) => !names.has(name)).map((attribute) => ({ attribute, direction }));
}

/** Whether no two rows can have the same values in these columns. */
function isUniqueBy(resource: PgResource, columns: ReadonlySet<string>): boolean {
  const attributes = (resource.codec.attributes ?? {}) as Record<string, { notNull?: boolean }>;
  return resource.uniques.some((unique) =>
    unique.attributes.every((name) => columns.has(name) && attributes[name]?.notNull === true),
  );
}

function wrong(resource: PgResource, problem: string): Error {
  return new Error(`The tag @defaultOrder of the table ${resource.name} ${problem}.`);
}
