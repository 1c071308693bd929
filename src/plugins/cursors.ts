import type { PgCodec, PgOrderSpec, PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { OfficeError } from "../errors.ts";
import type { OrderColumn } from "./defaultOrder.ts";

/*
 * The library writes a row's cursor from the values of its order; here is what is written for each, and all of the
 * reading. The library's own reading takes a null for 0 and loses rows where a column of the order is null.
 */

/** A column of an order, such as `name asc`, and the row's value there. */
export type CursorValue = readonly [column: string, value: string | number | boolean | null];

/** A column as a select takes it for its order, so that cursors hold its name beside its value. */
export function orderSpec(column: OrderColumn): PgOrderSpec {
  return {
    ...column,
    callback: (fragment, codec, nullable) => [fragment, naming(column, codec), nullable],
  };
}

function naming(column: OrderColumn, codec: PgCodec): PgCodec {
  const fromPg = (value: string | null) => [
    nameOf(column),
    value === null ? null : (codec.fromPg(value) as unknown),
  ];
  // The library gives codecs nulls here, though it does not say so.
  return { ...codec, fromPg: fromPg as PgCodec["fromPg"] };
}

function nameOf({ attribute, direction }: OrderColumn): string {
  return `${attribute} ${direction.toLowerCase()}`;
}

/** The values in a cursor. @throws OfficeError when it has not the form of one */
export function readCursor(name: string, cursor: string): CursorValue[] {
  const [, ...values] = parseParts(cursor);
  if (values.length === 0 || !values.every(isCursorValue))
    throw bad(name, `${name} must be a cursor from an earlier answer`);
  return values;
}

function parseParts(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64").toString("utf8"));
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

function isCursorValue(part: unknown): part is CursorValue {
  if (!Array.isArray(part) || part.length !== 2) return false;
  const [column, value] = part as unknown[];
  return typeof column === "string" && (value === null || typeof value !== "object");
}

/**
 * The condition for rows that come after or before the row of a cursor. @throws OfficeError when the cursor is of another
 * order
 */
export function cursorCondition(
  name: "after" | "before",
  values: readonly CursorValue[],
  order: readonly OrderColumn[],
  resource: PgResource,
  row: SQL,
): SQL {
  const isOfOrder =
    values.length === order.length &&
    order.every((column, index) => values[index]?.[0] === nameOf(column));
  if (!isOfOrder)
    throw bad(
      name,
      `${name} is a cursor of another order: it goes with the orderBy that it came from`,
    );
  const attributes = resource.codec.attributes as Record<
    string,
    { codec: PgCodec; notNull?: boolean }
  >;
  const columns = order.map(({ attribute, direction }, index): ComparedColumn => {
    const { codec, notNull = false } = attributes[attribute] ?? {};
    const value = values[index]?.[1] ?? null;
    return {
      sql: sql`${row}.${sql.identifier(attribute)}`,
      value: value === null ? null : sql`${sql.value(value)}::${codec?.sqlType ?? sql`text`}`,
      isNullable: !notNull,
      upwards: (direction === "ASC") === (name === "after"),
    };
  });
  return beyond(columns);
}

/** A column, the value that the cursor has there, and whether greater values are wanted. A null counts as the greatest. */
interface ComparedColumn {
  sql: SQL;
  value: SQL | null;
  isNullable: boolean;
  upwards: boolean;
}

function beyond(columns: readonly ComparedColumn[]): SQL {
  const [first, ...rest] = columns;
  if (!first) return sql.false;
  const isPlain = columns.every(
    ({ value, isNullable, upwards }) => value !== null && !isNullable && upwards === first.upwards,
  );
  if (isPlain) {
    // One comparison of whole rows, which an index answers.
    const names = sql.join(
      columns.map((column) => column.sql),
      ", ",
    );
    const values = sql.join(
      columns.map((column) => column.value ?? sql.null),
      ", ",
    );
    return sql`(${names}) ${first.upwards ? sql`>` : sql`<`} (${values})`;
  }
  const past = isPast(first);
  return rest.length === 0 ? past : sql`(${past}) or (${isSame(first)} and (${beyond(rest)}))`;
}

function isPast({ sql: column, value, isNullable, upwards }: ComparedColumn): SQL {
  if (value === null) return upwards ? sql.false : sql`${column} is not null`;
  if (!upwards) return sql`${column} < ${value}`;
  return isNullable ? sql`${column} > ${value} or ${column} is null` : sql`${column} > ${value}`;
}

function isSame({ sql: column, value }: ComparedColumn): SQL {
  return value === null ? sql`${column} is null` : sql`${column} = ${value}`;
}

function bad(name: string, message: string): OfficeError {
  return new OfficeError("BAD_USER_INPUT", message, { path: [name] });
}
