import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";

// Responses up to this many bytes are sent as one row.
const longest = 65_536;

/**
 * Separates the parts of a response that may be split: JSON escapes line breaks within strings, so no other one occurs.
 */
export const cut: SQL = sql`E'\\n'`;

/**
 * Splits the column `data` of a long response into several rows. One row of megabytes would be buffered, converted and
 * written within a single tick of the event loop.
 */
export function chunkRows(answer: SQL): SQL {
  return sql`select unnest(case when octet_length(data) > ${sql.literal(longest)} then string_to_array(data, ${cut}) else array[data] end) as data
    from (${answer}) as answer`;
}
