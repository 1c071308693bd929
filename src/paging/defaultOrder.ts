import type { PgCodec, PgResource } from "postgraphile/@dataplan/pg";
import { type SQL, sql } from "postgraphile/pg-sql2";
import { didYouMean } from "../text/suggest.ts";

/** A column of an order. */
export interface OrderColumn {
  /** A column, or the function of a computed field: PostgreSQL reads `row.function` as its call. */
  attribute: string;
  direction: "ASC" | "DESC";
  /** The place of rows without a value; undefined where every row has one. */
  nulls?: "FIRST" | "LAST";
  /** The type of a computed field. */
  codec?: PgCodec;
}

/**
 * The default order of a table: its tag `@defaultOrder scheduled_at desc, id`, made unique by the primary key. Throws
 * when the tag is malformed or names a missing column.
 */
export function defaultOrder(resource: PgResource): OrderColumn[] {
  const { defaultOrder: order } = resource.extensions?.tags ?? {};
  const attributes = (resource.codec.attributes ?? {}) as Record<string, unknown>;
  const columns = typeof order === "string" ? order.split(",").map((part) => part.trim()) : [];
  if (order !== undefined && columns.length === 0) throw tagError(resource, "names no column");
  const named = columns.map((column): OrderColumn => {
    const [, attribute = "", direction = "asc"] = /^(\w+)(?:\s+(asc|desc))?$/i.exec(column) ?? [];
    if (attribute === "")
      throw tagError(resource, `has "${column}" where a column, with asc or desc, belongs`);
    if (!Object.hasOwn(attributes, attribute))
      throw tagError(
        resource,
        `names the column ${attribute}, which the table does not have${didYouMean(attribute, Object.keys(attributes))}`,
      );
    return orderColumn(
      resource.codec,
      attribute,
      direction.toLowerCase() === "desc" ? "DESC" : "ASC",
    );
  });
  return uniqueOrder(resource, named);
}

/** A column of an order as callers see it: rows without a value are last in both directions. */
export function orderColumn(
  table: PgCodec,
  attribute: string,
  direction: OrderColumn["direction"],
): OrderColumn {
  const isRequired = table.attributes?.[attribute]?.notNull === true;
  return { attribute, direction, ...(!isRequired && { nulls: "LAST" }) };
}

/** The reverse order, for pages read from their end. */
export function opposite({ nulls, ...column }: OrderColumn): OrderColumn {
  return {
    ...column,
    direction: column.direction === "ASC" ? "DESC" : "ASC",
    ...(nulls && { nulls: nulls === "LAST" ? "FIRST" : "LAST" }),
  };
}

/**
 * Removes repeated columns: they do not affect the order, and the size of cursor conditions stays limited by the table.
 */
export function withoutRepeats(order: readonly OrderColumn[]): OrderColumn[] {
  const seen = new Set<string>();
  return order.filter(({ attribute }) => seen.size < seen.add(attribute).size);
}

/** Makes an order unique, and names each column once. */
export function uniqueOrder(resource: PgResource, order: readonly OrderColumn[]): OrderColumn[] {
  const named = withoutRepeats(order);
  return [...named, ...missingKeyColumns(resource, named)];
}

/** The primary-key columns that make an order unique; none where it is unique. */
export function missingKeyColumns(
  resource: PgResource,
  order: readonly OrderColumn[],
): OrderColumn[] {
  const names = new Set(order.map(({ attribute }) => attribute));
  if (isUniqueBy(resource, names)) return [];
  // The direction of the first column, so that one index serves both.
  const direction = order[0]?.direction ?? "ASC";
  const key = resource.uniques.find((unique) => unique.isPrimary)?.attributes ?? [];
  return key.filter((name) => !names.has(name)).map((attribute) => ({ attribute, direction }));
}

/** The primary key of a table, if it has one column. */
export function singleKey({ uniques }: PgResource): string | null {
  const [key, ...furtherKeys] = uniques.find((one) => one.isPrimary)?.attributes ?? [];
  return key === undefined || furtherKeys.length > 0 ? null : key;
}

/** Whether the columns are unique together. */
function isUniqueBy(resource: PgResource, columns: ReadonlySet<string>): boolean {
  const attributes = (resource.codec.attributes ?? {}) as Record<string, { notNull?: boolean }>;
  return resource.uniques.some((unique) =>
    unique.attributes.every((name) => columns.has(name) && attributes[name]?.notNull === true),
  );
}

function tagError(resource: PgResource, problem: string): Error {
  return new Error(`The tag @defaultOrder of the table ${resource.name} ${problem}.`);
}

/** The columns of an order, as SQL after `order by`; `row` is the alias of the table. */
export function orderSql(columns: readonly OrderColumn[], row: SQL): SQL {
  return sql.join(
    columns.map(
      (column) => sql`${row}.${sql.identifier(column.attribute)} ${directionSql(column)}`,
    ),
    ", ",
  );
}

function directionSql({ direction, nulls }: OrderColumn): SQL {
  if (direction === "ASC") return nulls === "FIRST" ? sql`asc nulls first` : sql`asc`;
  return nulls === "LAST" ? sql`desc nulls last` : sql`desc`;
}
