import type { PgCodec } from "postgraphile/@dataplan/pg";

/** A column as the catalogue knows it. */
export interface Column {
  codec: PgCodec;
  extensions?: { tags?: Record<string, unknown>; canSelect?: boolean };
}

/** The type of a column; of a domain the type that it narrows. */
export function innerCodec(codec: PgCodec): PgCodec {
  return codec.domainOfCodec ? innerCodec(codec.domainOfCodec) : codec;
}

/** Whether the API keeps a column to itself. */
export function isHidden(column: Pick<Column, "extensions"> | undefined): boolean {
  const { tags, canSelect } = column?.extensions ?? {};
  return tags?.internal !== undefined || tags?.secret !== undefined || canSelect === false;
}
