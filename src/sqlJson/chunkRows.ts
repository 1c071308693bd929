import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";

// So many bytes are as quick in one go.
const longest = 65_536;

/** What stands between parts of an answer where it may be cut: nothing else in it is a line break, which JSON escapes within strings. */
export const cut: SQL = sql`E'\\n'`;

/**
 * Has a statement that gives an answer's text as `data` give a long one in pieces, a row each. In one go megabytes would be read into
 * ever larger buffers, and brought into one string, and written out of it, in one turn of the event loop.
 */
export function chunkRows(answer: SQL): SQL {
  return sql`select unnest(case when octet_length(data) > ${sql.literal(longest)} then string_to_array(data, ${cut}) else array[data] end) as data
    from (${answer}) as answer`;
}
