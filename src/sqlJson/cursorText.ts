import { hash } from "node:crypto";
import type { PgCodec, PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import { nameOf } from "../paging/cursors.ts";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import { cursorEncoderOf } from "./jsonEncoder.ts";
import type { Row } from "./row.ts";
import { UnsupportedSelection } from "./selection.ts";
import { type Text, orNull, textSql } from "./text.ts";

/**
 * The text of a row's cursor: what {@link readCursor} reads, and letter for letter what Grafast writes.
 * @throws UnsupportedSelection for an order whose values are not written alike
 */
export function cursorText(resource: PgResource, order: readonly OrderColumn[], row: Row): Text {
  const attributes = resource.codec.attributes as Record<
    string,
    { codec: PgCodec; notNull?: boolean }
  >;
  // Of nothing but nulls there is no cursor.
  if (!order.some(({ attribute }) => attributes[attribute]?.notNull === true))
    throw new UnsupportedSelection("cursor");
  const values = order.map((column): Text => {
    const { codec } = attributes[column.attribute] ?? {};
    const write = codec && cursorEncoderOf(codec);
    if (!write) throw new UnsupportedSelection(column.attribute);
    // Also of a column that is never null: the text of an infinite time is.
    const value = orNull(write(row.column(column.attribute)));
    return [",[", JSON.stringify(nameOf(column)), ",", ...value, "]"];
  });
  const list = textSql(["[", JSON.stringify(cursorDigest(resource, order)), ...values.flat(), "]"]);
  // Lines of PostgreSQL's end after 76 letters.
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
