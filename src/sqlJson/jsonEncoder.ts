import type { PgCodec } from "postgraphile/@dataplan/pg";
import { isEnumCodec, TYPES } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Text } from "./text.ts";

/** Encodes a value as JSON; a part of the text is null where the value is. */
export type JsonEncoder = (value: SQL) => Text;

const bare: JsonEncoder = (value) => [sql`(${value})::text`];
const quoted: JsonEncoder = (value) => ['"', ...bare(value), '"'];
// Equal to `to_json` without its catalogue look-up per value.
const escaped: JsonEncoder = (value) => [sql`json_scalar(${value})::text`];
// A list with a null item is an error, which Grafast words.
const texts: JsonEncoder = (value) => [
  sql`case when array_position(${value}, null) is null then array_to_json(${value})::text else missing_row() end`,
];
// Includes the quotes: within a quoted format string they are literal.
const instant: JsonEncoder = (value) => [
  sql`to_char(${value} at time zone 'UTC', '"\\""YYYY-MM-DD"T"HH24:MI:SS.MS"Z\\""')`,
];

/** Whether values that are not null can lack JSON, as infinite timestamps do. */
export function hasUnencodableValues(write: JsonEncoder): boolean {
  return write === instant;
}

const writers = new Map<unknown, JsonEncoder>([
  [TYPES.uuid, quoted],
  [TYPES.text, escaped],
  [TYPES.int2, bare],
  [TYPES.int, bare],
  [TYPES.boolean, bare],
  // Strings in the API, so that no digit is lost.
  [TYPES.bigint, quoted],
  [TYPES.numeric, quoted],
  [TYPES.timestamptz, instant],
  [TYPES.date, quoted],
  [TYPES.jsonb, bare],
]);

/** The encoder for a column of this type; undefined for types that Grafast has to encode. */
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

/** The encoder of a value within a cursor; undefined for types that Grafast has to encode. */
export function cursorEncoderOf(codec: PgCodec): JsonEncoder | undefined {
  if (codec.domainOfCodec) return cursorEncoderOf(codec.domainOfCodec);
  if (numbersAndTruth.has(codec)) return bare;
  if (!isEnumCodec(codec) && (codec === TYPES.jsonb || !writers.has(codec))) return undefined;
  return (value) => escaped(codec.castFromPg?.(value, false) ?? sql`${value}::text`);
}
