import type { PgCodec, PgOrderSpec, PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { badUserInput, type PublicError } from "../errors/PublicError.ts";
import type { BindNth } from "../query/bind.ts";
import { exceededLimit } from "../graphql/jsonSize.ts";
import { fitsType } from "./cursorValues.ts";
import type { OrderColumn } from "./defaultOrder.ts";

/**
 * The library encodes cursors; this file defines their values and decodes them. The library's own decoding reads null
 * as 0 and loses rows where an order column is null.
 */

/** An order column, such as `name asc`, and the row's value. */
export type CursorValue = readonly [column: string, value: string | number | boolean | null];

/** The order column for a select, so that cursors contain its name and value. */
export function orderSpec(column: OrderColumn, row: SQL): PgOrderSpec {
  const { attribute, direction, nulls, codec: computed } = column;
  const place = nulls ? { nulls } : {};
  if (computed)
    return {
      fragment: sql`${row}.${sql.identifier(attribute)}`,
      codec: cursorPart(column, computed),
      direction,
      ...place,
    };
  return {
    attribute,
    direction,
    ...place,
    callback: (fragment, codec, nullable) => [fragment, cursorPart(column, codec), nullable],
  };
}

function cursorPart(column: OrderColumn, codec: PgCodec): PgCodec {
  const fromPg = (value: string | null) => [
    nameOf(column),
    value === null ? null : (codec.fromPg(value) as unknown),
  ];
  // The library passes nulls to codecs here, contrary to its types.
  return { ...codec, fromPg: fromPg as PgCodec["fromPg"] };
}

/** The name of an order column in cursors. */
export function nameOf({ attribute, direction }: OrderColumn): string {
  return `${attribute} ${direction.toLowerCase()}`;
}

/** Decodes a cursor. @throws PublicError when it is malformed */
export function readCursor(name: string, cursor: string): CursorValue[] {
  const [, ...values] = parseParts(cursor);
  if (values.length === 0 || !values.every(isCursorValue)) throw foreignCursor(name);
  return values;
}

/** Characters of a cursor: it holds the values of order columns, which are shorter. */
const maxCursorLength = 65_536;
/** A cursor is a list of pairs, one for each column. */
const cursorLimits = { depth: 2, values: 1_000 };

function parseParts(cursor: string): unknown[] {
  if (cursor.length > maxCursorLength) return [];
  try {
    const text = Buffer.from(cursor, "base64");
    if (exceededLimit(text, cursorLimits)) return [];
    const parts: unknown = JSON.parse(text.toString("utf8"));
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

/** Validates that a cursor belongs to this table and order. @throws PublicError */
export function checkCursor(
  name: string,
  values: readonly CursorValue[],
  order: readonly OrderColumn[],
  resource: PgResource,
): void {
  const isOfOrder =
    values.length === order.length &&
    order.every((column, index) => values[index]?.[0] === nameOf(column));
  if (!isOfOrder)
    throw invalidArgument(
      name,
      `${name} is a cursor of another order: it goes with the orderBy that it came from`,
    );
  const attributes = resource.codec.attributes as Record<string, { codec: PgCodec }>;
  const isOfRow = order.every((column, index) => {
    const { codec } = attributes[column.attribute] ?? column;
    const value = values[index]?.[1] ?? null;
    return value === null || !codec || fitsType(codec, value);
  });
  if (!isOfRow) throw foreignCursor(name);
}

/** The start or end of a page. */
export interface Bound {
  name: "after" | "before";
  /** The values of the cursor in the order's columns. */
  values: readonly CursorValue[];
  /** Inserts the value of the nth order column, where it is not null. */
  bind: BindNth;
}

/**
 * The disjoint ranges of an index that have the rows after or before a cursor, the nearest first. The rows of a range all
 * have a value in the first column of the order, or all have none.
 */
export function cursorRanges(
  { name, values, bind }: Bound,
  order: readonly OrderColumn[],
  resource: PgResource,
  row: SQL,
): SQL[] {
  const attributes = resource.codec.attributes as Record<string, { codec: PgCodec | undefined }>;
  const columns = order.map((column, index): ComparedColumn => {
    const { attribute, direction, nulls } = column;
    const { codec } = attributes[attribute] ?? column;
    const isNull = (values[index]?.[1] ?? null) === null;
    return {
      sql: sql`${row}.${sql.identifier(attribute)}`,
      value: isNull ? null : sql`${bind(index)}::${codec?.sqlType ?? sql`text`}`,
      upwards: (direction === "ASC") === (name === "after"),
      hasNullsBeyond: nulls !== undefined && (nulls === "LAST") === (name === "after"),
    };
  });
  return rangesBeyond(columns);
}

/** A column, the cursor's value, whether greater values are wanted, and whether rows without a value follow values. */
interface ComparedColumn {
  sql: SQL;
  value: SQL | null;
  upwards: boolean;
  hasNullsBeyond: boolean;
}

/** The disjoint index ranges beyond the cursor. */
function rangesBeyond(columns: readonly ComparedColumn[]): SQL[] {
  const [first, ...rest] = columns;
  if (!first) return [];
  const { value, upwards, hasNullsBeyond } = first;
  const nulls = hasNullsBeyond ? [sql`${first.sql} is null`] : [];
  const isOneWay = columns.every((one) => one.value !== null && one.upwards === upwards);
  // The row comparison skips nulls.
  if (isOneWay && !rest.some((one) => one.hasNullsBeyond)) {
    const names = columns.map((column) => column.sql);
    const values = columns.map((column) => column.value ?? sql.null);
    const sign = upwards ? sql`>` : sql`<`;
    return [sql`(${sql.join(names, ", ")}) ${sign} (${sql.join(values, ", ")})`, ...nulls];
  }
  const withSame = rangesBeyond(rest).map((range) => sql`${isSame(first)} and (${range})`);
  if (value === null)
    return hasNullsBeyond ? withSame : [...withSame, sql`${first.sql} is not null`];
  const past = upwards ? sql`${first.sql} > ${value}` : sql`${first.sql} < ${value}`;
  return [...withSame, past, ...nulls];
}

function isSame({ sql: column, value }: ComparedColumn): SQL {
  return value === null ? sql`${column} is null` : sql`${column} = ${value}`;
}

function foreignCursor(name: string): PublicError {
  return invalidArgument(name, `${name} must be a cursor from an earlier answer`);
}

function invalidArgument(name: string, message: string): PublicError {
  return badUserInput(message, { path: [name] });
}
