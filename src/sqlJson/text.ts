import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { UnsupportedSelection } from "./selection.ts";

/** A text that SQL puts together for each row: of constants, which are strings here, and of what is found out. */
export type Text = readonly (string | SQL)[];

// What `sql.literal` would make parameters of.
const punctuation: Partial<Record<string, SQL>> = {
  "{": sql`'{'`,
  "}": sql`'}'`,
  "[": sql`'['`,
  "]": sql`']'`,
  ",": sql`','`,
};

/** The SQL of a text. Constants beside each other become one: each part costs as much as a function for every row. */
export function textSql(text: Text): SQL {
  const parts: (string | SQL)[] = [];
  for (const part of text) {
    const last = parts.at(-1);
    if (typeof part === "string" && typeof last === "string") parts.splice(-1, 1, last + part);
    else parts.push(part);
  }
  return sql`(${joined(parts.map((part) => (typeof part === "string" ? constant(part) : part)))})`;
}

/** Joins halves of halves: one after the other, all that is there already would be copied for each part that is added. */
function joined(parts: readonly SQL[]): SQL {
  if (parts.length <= 2) return sql.join([...parts], " || ");
  const half = Math.ceil(parts.length / 2);
  return sql`(${joined(parts.slice(0, half))}) || (${joined(parts.slice(half))})`;
}

// In parentheses of their own they are put together once, when the statement is planned.
function constant(text: string): SQL {
  const parts = text.match(/[{}[\],]|[^{}[\],]+/g) ?? [];
  return sql`(${sql.join(
    parts.map((part) => punctuation[part] ?? sql.literal(part)),
    " || ",
  )})`;
}

/** A text in whose place `null` stands where a part of it is null. */
export function orNull(text: Text): Text {
  return [sql`coalesce(${textSql(text)}, 'null')`];
}

/** The text of an object, of its members' texts by their names. @throws UnsupportedSelection when there are none */
export function objectText(parts: readonly (readonly [string, Text])[]): Text {
  if (parts.length === 0) throw new UnsupportedSelection("nothing selected");
  const members = parts.map(([key, text], index) => [
    index === 0 ? "{" : ",",
    `"${key}":`,
    ...text,
  ]);
  return [...members.flat(), "}"];
}
