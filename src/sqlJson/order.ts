import { hash } from "node:crypto";
import { type GraphQLField, getNamedType } from "graphql";
import type { PgCodec, PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import { nameOf } from "../paging/cursors.ts";
import { type OrderColumn, defaultOrder, uniqueOrder } from "../paging/defaultOrder.ts";
import { namedColumns } from "../paging/orders.ts";
import { type Text, cursorEncoderOf, nullIfIncomplete, textSql } from "./jsonText.ts";
import type { Row } from "./rows.ts";
import { UnsupportedSelection } from "./selection.ts";

/**
 * The columns of the requested order, made unique; the table's default order where none is requested.
 * @throws Error for an order that is not by columns
 */
export function orderColumns(
  { args }: Pick<GraphQLField<unknown, unknown>, "args">,
  given: unknown,
  resource: PgResource,
): readonly OrderColumn[] {
  const wanted = given == null ? [] : (given as unknown[]);
  if (wanted.length === 0) return defaultOrder(resource);
  const argument = args.find(({ name }) => name === "orderBy");
  return uniqueOrder(resource, namedColumns(getNamedType(argument?.type), wanted));
}

/**
 * The cursor of a row, equal to Grafast's byte for byte; {@link readCursor} reads it.
 * @throws UnsupportedSelection for orders whose values are encoded differently
 */
export function cursorText(resource: PgResource, order: readonly OrderColumn[], row: Row): Text {
  const attributes = resource.codec.attributes as Record<
    string,
    { codec: PgCodec; notNull?: boolean }
  >;
  // Grafast has no cursor for rows whose order columns are all null.
  if (!order.some(({ attribute }) => attributes[attribute]?.notNull === true))
    throw new UnsupportedSelection("cursor");
  const values = order.map((column): Text => {
    const { codec } = attributes[column.attribute] ?? column;
    const write = codec && cursorEncoderOf(codec);
    if (!write) throw new UnsupportedSelection(column.attribute);
    // Also for a column that is not null: an infinite timestamp has no JSON.
    const value = nullIfIncomplete(write(row.column(column.attribute)));
    return [",[", JSON.stringify(nameOf(column)), ",", ...value, "]"];
  });
  const list = textSql(["[", JSON.stringify(cursorDigest(resource, order)), ...values.flat(), "]"]);
  // PostgreSQL's base64 has line breaks every 76 characters.
  return ['"', sql`translate(encode(convert_to(${list}, 'UTF8'), 'base64'), E'\\n', '')`, '"'];
}

/** Grafast's digest of an order, the first part of its cursors (docs/internals.md). */
export function cursorDigest({ name }: PgResource, order: readonly OrderColumn[]): string {
  const alias = sql.identifier(Symbol(name));
  const columns = order.map(
    ({ attribute }) => sql.compile(sql`${alias}.${sql.identifier(attribute)}`).text,
  );
  return hash("sha256", JSON.stringify(columns)).slice(0, 10);
}
