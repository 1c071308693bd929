import type { PgCodec } from "postgraphile/@dataplan/pg";
import { isEnumCodec, TYPES } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Text } from "./text.ts";

/** Writes a value as the text of its JSON, of which a part is null where the value is. */
export type JsonEncoder = (value: SQL) => Text;

const bare: JsonEncoder = (value) => [sql`(${value})::text`];
const quoted: JsonEncoder = (value) => ['"', ...bare(value), '"'];
// What `to_json` writes, without a look at the catalogue for each value.
const escaped: JsonEncoder = (value) => [sql`json_scalar(${value})::text`];
// No list holds null: one that does is an error, which Grafast tells.
const texts: JsonEncoder = (value) => [
  sql`case when array_position(${value}, null) is null then array_to_json(${value})::text else missing_row() end`,
];
// In one go with its quotes, which stand for themselves within doubled ones.
const instant: JsonEncoder = (value) => [
  sql`to_char(${value} at time zone 'UTC', '"\\""YYYY-MM-DD"T"HH24:MI:SS.MS"Z\\""')`,
];

/** Whether values that are not null may have no text all the same: of infinite times there is none. */
export function hasUnencodableValues(write: JsonEncoder): boolean {
  return write === instant;
}

const writers = new Map<unknown, JsonEncoder>([
  [TYPES.uuid, quoted],
  [TYPES.text, escaped],
  [TYPES.int2, bare],
  [TYPES.int, bare],
  [TYPES.boolean, bare],
  // Both are strings in the API, so that no digit is lost.
  [TYPES.bigint, quoted],
  [TYPES.numeric, quoted],
  [TYPES.timestamptz, instant],
  [TYPES.date, quoted],
  [TYPES.jsonb, bare],
]);

/** How a column of this type is written as the API writes it; undefined for types that are left to Grafast. */
export function jsonEncoderOf(
  codec: PgCodec,
  enumName: (value: string) => string,
): JsonEncoder | undefined {
  if (codec.domainOfCodec) return jsonEncoderOf(codec.domainOfCodec, enumName);
  if (codec.arrayOfCodec === TYPES.text) return texts;
  if (isEnumCodec(codec))
    return codec.values.every(({ value }) => enumName(value) === value && /^\w+$/.test(value))
      ? quoted
      : undefined;
  return writers.get(codec);
}

const numbersAndTruth = new Set<unknown>([TYPES.int2, TYPES.int, TYPES.boolean]);

/** How a value of this type is written in a cursor, from PostgreSQL's text of it; undefined for types that are left to Grafast. */
export function cursorEncoderOf(codec: PgCodec): JsonEncoder | undefined {
  if (codec.domainOfCodec) return cursorEncoderOf(codec.domainOfCodec);
  if (numbersAndTruth.has(codec)) return bare;
  if (!isEnumCodec(codec) && (codec === TYPES.jsonb || !writers.has(codec))) return undefined;
  return (value) => escaped(codec.castFromPg?.(value, false) ?? sql`${value}::text`);
}
