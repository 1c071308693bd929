import { sql } from "postgraphile/pg-sql2";
import type { TermNode } from "./ast.ts";
import type { Test } from "./bind.ts";
import type { FieldKind, SearchField } from "./searchTable.ts";
import { listCondition } from "./listSql.ts";
import type { Reader } from "./readers.ts";
import { readerOf } from "./readers.ts";
import { rejectReversedRange, rejectTerm } from "./rejectTerm.ts";
import { type Clock, isTime, timeCondition } from "./timeSql.ts";
import {
  beginsWithExactly,
  beginsWithText,
  equalsOneText,
  equalsText,
  maxLookedUpTexts,
  wordsHaveBeginning,
  wordsHaveText,
} from "./textSql.ts";

/** The names of kinds in messages, without article. */
const KIND_NAMES: Record<FieldKind, string> = {
  text: "text",
  exact: "exact text",
  integer: "whole number",
  bigint: "whole number",
  decimal: "decimal number",
  float: "decimal number",
  boolean: "boolean",
  id: "id",
  instant: "date and time",
  timestamp: "date and time",
  date: "date",
  enum: "enumeration",
};

/** The name of a field's values in messages, without article. */
export function kindName({ kind, list }: Pick<SearchField, "kind" | "list">): string {
  return list ? `${KIND_NAMES[kind]} list` : KIND_NAMES[kind];
}

/** Whether values of a kind are ordered, for comparisons and ranges. */
export function isOrdered(kind: FieldKind): boolean {
  return !["text", "exact", "boolean", "id", "enum"].includes(kind);
}

/** Whether a kind supports `field:beginning*`. */
export function hasBeginnings(kind: FieldKind): boolean {
  return kind === "text" || kind === "exact";
}

/**
 * The condition of a term on its field, with values parsed by the field's kind. Throws a `QuerySyntaxError` for a value
 * of another kind, an unsupported operator, and a reversed range.
 */
export function conditionOf(term: TermNode, field: SearchField, name: string, clock: Clock): Test {
  const { kind } = field;
  if (term.operator === "prefix" && !hasBeginnings(kind)) {
    rejectTerm(
      term,
      `\`${name}\` (${kindName(field)}) has no beginnings: \`*\` does not go with it`,
    );
  }
  if (!["exists", "eq", "in", "prefix"].includes(term.operator) && !isOrdered(kind)) {
    rejectTerm(term, `\`${name}\` (${kindName(field)}) cannot be greater or less than a value`);
  }
  if (term.operator === "exists") return field.list ? hasElements : isSet;
  const test = conditionOfValue(term, field, clock);
  return field.list ? listCondition(term, field, test) : test;
}

const isSet: Test = (column) => sql`${column} is not null`;
const hasElements: Test = (column) => sql`cardinality(${column}) > 0`;

/** The condition of one value: the field's or a list item's. */
function conditionOfValue(term: TermNode, field: SearchField, clock: Clock): Test {
  const { kind } = field;
  if (isTime(kind)) return timeCondition(term, kind, clock);
  if (kind === "text") return textCondition(term);
  if (kind === "exact" && term.operator === "prefix") {
    const { text } = term.values[0];
    return (column, bind) => beginsWithExactly(column, text, bind);
  }
  return plainCondition(term, readerOf(field));
}

function textCondition({ operator, values }: TermNode): Test {
  const [first = "", ...others] = values.map((value) => value?.text ?? "");
  if (operator === "prefix") return (column, bind) => beginsWithText(column, first, bind);
  if (others.length === 0) return (column, bind) => equalsText(column, first, bind);
  return (column, bind) => equalsOneText(column, [first, ...others], bind);
}

/**
 * The condition that a text term implies for its table's `words`, which an index serves; null where it implies none, and
 * for long lists: looking up each of 1,000 texts takes longer than comparing 100,000 rows with all of them.
 */
export function conditionWithin(term: TermNode): Test | null {
  if (!["eq", "in", "prefix"].includes(term.operator)) return null;
  const texts = term.values.map((value) => value?.text ?? "");
  if (texts.length > maxLookedUpTexts) return null;
  const test = term.operator === "prefix" ? wordsHaveBeginning : wordsHaveText;
  return (words, bind) =>
    sql.join(
      texts.map((text) => test(words, text, bind)),
      " or ",
    );
}

const SIGNS = { eq: sql`=`, gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` };

function plainCondition(term: TermNode, { read, type }: Reader): Test {
  switch (term.operator) {
    case "in": {
      const values = term.values.map(read);
      return (column, bind) => sql`${column} = any (${bind(values)}::${type}[])`;
    }
    case "range": {
      const [lower, upper] = term.values.map((value) => value && read(value));
      if (lower != null && upper != null && isGreater(lower, upper)) rejectReversedRange(term);
      const [lowerIncluded, upperIncluded] = term.inclusive;
      return (column, bind) => {
        const from =
          lower != null &&
          sql`${column} ${SIGNS[lowerIncluded ? "gte" : "gt"]} ${bind(lower)}::${type}`;
        const to =
          upper != null &&
          sql`${column} ${SIGNS[upperIncluded ? "lte" : "lt"]} ${bind(upper)}::${type}`;
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
      return (column, bind) => sql`${column} ${sign} ${bind(value)}::${type}`;
    }
    default:
      throw new Error(`${term.operator} has no plain condition`);
  }
}

/** Numbers that doubles cannot hold are strings; integers are compared exactly. */
function isGreater(a: string | number | boolean, b: string | number | boolean): boolean {
  const whole = /^-?\d+$/;
  if (whole.test(String(a)) && whole.test(String(b))) return BigInt(a) > BigInt(b);
  return Number(a) > Number(b);
}
