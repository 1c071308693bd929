import { createHash } from "node:crypto";
import type pg from "pg";

/** A digest of the rows of each table. */
export type TableDigests = ReadonlyMap<string, string>;

/**
 * Returns a function that reads the digests of tables. It rereads a table only when the transaction ids of its
 * rows changed.
 * @param row SQL expression for the compared text of a row `t`
 */
export function makeTableDigests(
  pool: pg.Pool,
  row: string,
): (tables: readonly string[]) => Promise<TableDigests> {
  const known = new Map<string, { written: string; print: string }>();
  const read = async (tables: readonly string[], value: string) => {
    if (tables.length === 0) return [];
    const text = tables
      .map((name) => `select '${name}' as name, ${value} as value from ${name} t`)
      .join(" union all ");
    // Prepared, because planning it takes longer than reading the rows.
    const name = createHash("sha256").update(text).digest("base64");
    return (await pool.query<{ name: string; value: string }>({ name, text })).rows;
  };
  return async (tables) => {
    const written = await read(
      tables,
      "count(*) || ':' || coalesce(sum(hashint8(xmin::text::bigint)::bigint), 0)",
    );
    const changed = written.filter(({ name, value }) => known.get(name)?.written !== value);
    const prints = await read(
      changed.map(({ name }) => name),
      `count(*) || ':' || coalesce(sum(hashtextextended(${row}, 0)), 0)`,
    );
    const values = new Map(written.map(({ name, value }) => [name, value]));
    for (const { name, value: print } of prints)
      known.set(name, { written: values.get(name) ?? "", print });
    return new Map(tables.map((name) => [name, known.get(name)?.print ?? ""]));
  };
}
