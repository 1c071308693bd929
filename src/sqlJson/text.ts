import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { UnsupportedSelection } from "./selection.ts";

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
export function orNull(text: Text): Text {
  return [sql`coalesce(${textSql(text)}, 'null')`];
}

/** The JSON of an object from the JSON of its members. @throws UnsupportedSelection when there are none */
export function objectJson(parts: readonly (readonly [string, Text])[]): Text {
  if (parts.length === 0) throw new UnsupportedSelection("nothing selected");
  const members = parts.map(([key, text], index) => [
    index === 0 ? "{" : ",",
    `"${key}":`,
    ...text,
  ]);
  return [...members.flat(), "}"];
}
