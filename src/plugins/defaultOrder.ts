import type { PgResource } from "postgraphile/@dataplan/pg";

/** One column of an order. */
export interface OrderColumn {
  attribute: string;
  direction: "ASC" | "DESC";
}

/**
 * The order of a table's rows where a caller names none: that of the table's tag, `@order scheduled_at desc, id`, made
 * unique by the primary key, which takes the direction of the first column so that one index serves both.
 * Throws when the tag cannot be read or names a column that the table does not have.
 */
export function defaultOrder(resource: PgResource): OrderColumn[] {
  const { order } = resource.extensions?.tags ?? {};
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
  const direction = named[0]?.direction ?? "ASC";
  const missing = primaryKey(resource).filter(
    (attribute) => !named.some((column) => column.attribute === attribute),
  );
  return [...named, ...missing.map((attribute) => ({ attribute, direction }))];
}

/** Whether no two rows can have the same values in these columns. */
export function isUniqueBy(resource: PgResource, columns: ReadonlySet<string>): boolean {
  const attributes = (resource.codec.attributes ?? {}) as Record<string, { notNull?: boolean }>;
  return resource.uniques.some((unique) =>
    unique.attributes.every((name) => columns.has(name) && attributes[name]?.notNull === true),
  );
}

function primaryKey(resource: PgResource): readonly string[] {
  return resource.uniques.find((unique) => unique.isPrimary)?.attributes ?? [];
}

function wrong(resource: PgResource, problem: string): Error {
  return new Error(`The tag @order of the table ${resource.name} ${problem}.`);
}
