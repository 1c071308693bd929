import type { FieldNode, GraphQLField, GraphQLObjectType, SelectionSetNode } from "graphql";
import type { PgCodec } from "postgraphile/@dataplan/pg";
import { isEnumCodec, TYPES } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Fragments } from "../graphql/collectFields.ts";
import { UnsupportedSelection, fieldOf, fieldsOf } from "./selection.ts";

/** JSON text that SQL concatenates per row: strings are constants, the rest is SQL. */
export type Text = readonly (string | SQL)[];

// `sql.literal` would make parameters of these.
const punctuation: Partial<Record<string, SQL>> = {
  "{": sql`'{'`,
  "}": sql`'}'`,
  "[": sql`'['`,
  "]": sql`']'`,
  ",": sql`','`,
};

/** The SQL of a text. Adjacent constants are merged, since each part costs a function call per row. */
export function textSql(text: Text): SQL {
  const parts: (string | SQL)[] = [];
  for (const part of text) {
    const last = parts.at(-1);
    if (typeof part === "string" && typeof last === "string") parts.splice(-1, 1, last + part);
    else parts.push(part);
  }
  return sql`(${joined(parts.map((part) => (typeof part === "string" ? constant(part) : part)))})`;
}

/** Joins halves recursively: joining one by one would copy the result for each part. */
function joined(parts: readonly SQL[]): SQL {
  if (parts.length <= 2) return sql.join([...parts], " || ");
  const half = Math.ceil(parts.length / 2);
  return sql`(${joined(parts.slice(0, half))}) || (${joined(parts.slice(half))})`;
}

// Within parentheses constants are concatenated once, at planning.
function constant(text: string): SQL {
  const parts = text.match(/[{}[\],]|[^{}[\],]+/g) ?? [];
  return sql`(${sql.join(
    parts.map((part) => punctuation[part] ?? sql.literal(part)),
    " || ",
  )})`;
}

/** The text, or `null` where a part of it is null. */
export function nullIfIncomplete(text: Text): Text {
  return [sql`coalesce(${textSql(text)}, 'null')`];
}

/** The text, or an error where a part of it is null: Grafast reports the missing value. */
export function errorIfIncomplete(text: Text): Text {
  return [sql`coalesce(${textSql(text)}, missing_row())`];
}

/** The JSON of an object from that of the selected fields. @throws UnsupportedSelection when none is selected */
export function objectJson(
  fragments: Fragments,
  type: GraphQLObjectType,
  selected: { selectionSet?: SelectionSetNode | undefined },
  fieldJson: (field: GraphQLField<unknown, unknown>, node: FieldNode, key: string) => Text,
): Text {
  const members = Array.from(fieldsOf(fragments, selected), ([key, node]) => {
    const isTypeName = node.name.value === "__typename";
    const json = isTypeName ? [`"${type.name}"`] : fieldJson(fieldOf(type, node), node, key);
    return [`"${key}":`, ...json];
  });
  if (members.length === 0) throw new UnsupportedSelection("nothing selected");
  return [...members.flatMap((member, n) => [n === 0 ? "{" : ",", ...member]), "}"];
}

/** Encodes a value as JSON; a part of the text is null where the value is. */
export type JsonEncoder = (value: SQL) => Text;

const plainText: JsonEncoder = (value) => [sql`(${value})::text`];
const quoted: JsonEncoder = (value) => ['"', ...plainText(value), '"'];
// Equal to `to_json` without its catalogue look-up per value.
const escaped: JsonEncoder = (value) => [sql`json_scalar(${value})::text`];
// A null item in a list is an error, which Grafast reports.
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
  [TYPES.int2, plainText],
  [TYPES.int, plainText],
  [TYPES.boolean, plainText],
  // Strings in the API, so that no digit is lost.
  [TYPES.bigint, quoted],
  [TYPES.numeric, quoted],
  [TYPES.timestamptz, instant],
  [TYPES.date, quoted],
  [TYPES.jsonb, plainText],
]);

/** The encoder for a column of this type; undefined for types that Grafast has to encode. */
export function jsonEncoderOf(build: GraphileBuild.Build, codec: PgCodec): JsonEncoder | undefined {
  if (codec.domainOfCodec) return jsonEncoderOf(build, codec.domainOfCodec);
  if (codec.arrayOfCodec === TYPES.text) return texts;
  if (!isEnumCodec(codec)) return writers.get(codec);
  const isPlain = codec.values.every(
    ({ value }) => build.inflection.enumValue(value, codec) === value && /^\w+$/.test(value),
  );
  return isPlain ? quoted : undefined;
}

const numbersAndTruth = new Set<unknown>([TYPES.int2, TYPES.int, TYPES.boolean]);

/** The encoder of a value within a cursor; undefined for types that Grafast has to encode. */
export function cursorEncoderOf(codec: PgCodec): JsonEncoder | undefined {
  if (codec.domainOfCodec) return cursorEncoderOf(codec.domainOfCodec);
  if (numbersAndTruth.has(codec)) return plainText;
  if (!isEnumCodec(codec) && (codec === TYPES.jsonb || !writers.has(codec))) return undefined;
  return (value) => escaped(codec.castFromPg?.(value, false) ?? sql`${value}::text`);
}

// Responses up to this many bytes are sent as one row.
const maxSingleRowBytes = 65_536;

/**
 * Separates the parts of a response that may be split: JSON escapes line breaks within strings, so no other one occurs.
 */
export const rowSeparator: SQL = sql`E'\\n'`;

/**
 * Splits the column `data` of a long response into several rows. One row of megabytes would be buffered, converted and
 * written within a single tick of the event loop.
 */
export function chunkRows(answer: SQL): SQL {
  return sql`select unnest(case when octet_length(data) > ${sql.literal(maxSingleRowBytes)} then string_to_array(data, ${rowSeparator}) else array[data] end) as data
    from (${answer}) as answer`;
}
