import { sql } from "postgraphile/pg-sql2";
import type { QueryValue, TermNode } from "./ast.ts";
import type { Test } from "./bind.ts";
import type { SearchField } from "./searchTable.ts";
import { readerOf } from "./readers.ts";
import { boundTexts } from "./textSql.ts";
import { isTime } from "./timeSql.ts";

/**
 * The condition of a term on a list: one item matches. Equality compares the list as a whole, which an index serves;
 * other operators use `test` on each item.
 */
export function listCondition(term: TermNode, field: SearchField, test: Test): Test {
  const isEquality = term.operator === "eq" || term.operator === "in";
  if (!isEquality || isTime(field.kind)) {
    const element = sql.identifier(Symbol("element"));
    return (column, bind) =>
      sql`exists (select from unnest(${column}) as ${element} where ${test(element, bind)})`;
  }
  const values: readonly QueryValue[] = term.values;
  if (field.kind === "text") {
    const texts = values.map(({ text }) => text);
    return (column, bind) => sql`search_texts(${column}) && ${boundTexts(texts, bind)}`;
  }
  const { read, type } = readerOf(field);
  const elements = values.map(read);
  return (column, bind) => sql`${column} && ${bind(elements)}::${type}[]`;
}
