import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { QueryValue, TermNode } from "./ast.ts";
import type { FieldKind, SearchField } from "./catalogue.ts";
import { refuseReversed, refuseTerm } from "./refuseTerm.ts";
import { timeCondition } from "./timeSql.ts";
import { beginsWithExactly, beginsWithText, equalsText } from "./textSql.ts";
import {
  parseBigintValue,
  parseBooleanValue,
  parseDecimalValue,
  parseEnumValue,
  parseIntegerValue,
  parseUuidValue,
} from "./values.ts";

/** A test of a field's value; `column` is the field as SQL. */
export type Test = (column: SQL) => SQL;

/** What people call a kind, with its article left out. */
export const KIND_NAMES: Record<FieldKind, string> = {
  text: "text",
  exact: "exact text",
  integer: "whole number",
  bigint: "whole number",
  decimal: "decimal number",
  float: "decimal number",
  boolean: "boolean",
  id: "id",
  instant: "date and time",
  date: "date",
  enum: "enumeration",
};

/** Whether values of a kind can be greater and less, and so stand in comparisons and ranges. */
export function isOrdered(kind: FieldKind): boolean {
  return !["text", "exact", "boolean", "id", "enum"].includes(kind);
}

/** Whether a kind knows `field:beginning*`. */
export function hasBeginnings(kind: FieldKind): boolean {
  return kind === "text" || kind === "exact";
}

/**
 * The test that a term asks of its field, its values read by the field's kind. Throws a `QuerySyntaxError` for a value
 * of another kind, an operator that the kind does not have, and a range whose ends are the wrong way round.
 */
export function conditionOf(
  term: TermNode,
  field: SearchField,
  name: string,
  clock: () => Date,
): Test {
  const { kind } = field;
  if (term.operator === "exists") return (column) => sql`${column} is not null`;
  if (term.operator === "prefix" && !hasBeginnings(kind)) {
    refuseTerm(
      term,
      `\`${name}\` (${KIND_NAMES[kind]}) has no beginnings: \`*\` does not go with it`,
    );
  }
  if (!["eq", "in", "prefix"].includes(term.operator) && !isOrdered(kind)) {
    refuseTerm(term, `\`${name}\` (${KIND_NAMES[kind]}) cannot be greater or less than a value`);
  }
  if (kind === "instant" || kind === "date") return timeCondition(term, kind, clock);
  if (kind === "text") return textCondition(term);
  if (kind === "exact" && term.operator === "prefix") {
    const { text } = term.values[0];
    return (column) => beginsWithExactly(column, text);
  }
  return plainCondition(term, readerOf(field));
}

function textCondition(term: TermNode): Test {
  const texts = term.values.map((value) => value?.text ?? "");
  const test = term.operator === "prefix" ? beginsWithText : equalsText;
  return (column) =>
    sql.join(
      texts.map((text) => test(column, text)),
      " or ",
    );
}

/** How values of a kind are read, compared with each other, and given to the database. */
type Reader = {
  read: (value: QueryValue) => string | number | boolean;
  type: SQL;
};

function readerOf({ kind, type, values = new Map() }: SearchField): Reader {
  switch (kind) {
    case "integer":
      return { read: parseIntegerValue, type: sql`int4` };
    case "bigint":
      return { read: (value) => parseBigintValue(value).toString(), type: sql`int8` };
    case "decimal":
      return { read: parseDecimalValue, type: sql`numeric` };
    case "float":
      return { read: parseDecimalValue, type: sql`float8` };
    case "boolean":
      return { read: parseBooleanValue, type: sql`bool` };
    case "id":
      return { read: parseUuidValue, type: sql`uuid` };
    case "enum":
      return {
        read: (value) => values.get(parseEnumValue(value, [...values.keys()])) ?? value.text,
        type,
      };
    default:
      return { read: (value) => value.text, type: sql`text` };
  }
}

const SIGNS = { eq: sql`=`, gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` };

function plainCondition(term: TermNode, { read, type }: Reader): Test {
  const bind = (value: string | number | boolean) => sql`${sql.value(value)}::${type}`;
  switch (term.operator) {
    case "in": {
      const values = term.values.map(read);
      return (column) => sql`${column} = any (${sql.value(values)}::${type}[])`;
    }
    case "range": {
      const [lower, upper] = term.values.map((value) => value && read(value));
      if (lower != null && upper != null && isGreater(lower, upper)) refuseReversed(term);
      const [lowerIncluded, upperIncluded] = term.inclusive;
      return (column) => {
        const from =
          lower != null && sql`${column} ${SIGNS[lowerIncluded ? "gte" : "gt"]} ${bind(lower)}`;
        const to =
          upper != null && sql`${column} ${SIGNS[upperIncluded ? "lte" : "lt"]} ${bind(upper)}`;
        return sql.join(
          [from, to].filter((end) => end !== false),
          " and ",
        );
      };
    }
    case "eq":
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const value = read(term.values[0]);
      const sign = SIGNS[term.operator];
      return (column) => sql`${column} ${sign} ${bind(value)}`;
    }
    default:
      throw new Error(`${term.operator} has no plain condition`);
  }
}

/** Numbers come as text where doubles could not hold them; whole ones are compared exactly. */
function isGreater(a: string | number | boolean, b: string | number | boolean): boolean {
  const whole = /^-?\d+$/;
  if (whole.test(String(a)) && whole.test(String(b))) return BigInt(a) > BigInt(b);
  return Number(a) > Number(b);
}
