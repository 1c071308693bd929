import type { PgCodec } from "postgraphile/@dataplan/pg";

/** A column of the catalogue. */
export interface Column {
  codec: PgCodec;
  extensions?: { tags?: Record<string, unknown>; canSelect?: boolean };
}

/** The type of a column; for a domain its base type. */
export function innerCodec(codec: PgCodec): PgCodec {
  return codec.domainOfCodec ? innerCodec(codec.domainOfCodec) : codec;
}

/** Whether the API hides a column. */
export function isHidden(column: Pick<Column, "extensions"> | undefined): boolean {
  const { tags, canSelect } = column?.extensions ?? {};
  return tags?.internal !== undefined || tags?.secret !== undefined || canSelect === false;
}

/** The declaration `numeric(precision, scale)` of a column. */
export interface NumericDigits {
  precision: number;
  scale: number;
}
