import type pg from "pg";

/** A column that a generated row must set. */
interface Column {
  name: string;
  /** Its position in the table. */
  position: number;
  type: string;
  /** The first two values of an enumeration. */
  labels: string[] | null;
  /** The referenced table and column. */
  target: string | null;
  target_column: string | null;
}

/** Texts that pass common checks: a name, a key, an e-mail address, a URL, a colour, a currency, a country. */
export const textCandidates: readonly ((n: number) => string)[] = [
  (n: number) => `Row ${n}`,
  (n: number) => `row_${n}`,
  (n: number) => `row${n}@example.com`,
  (n: number) => `https://example.com/${n}`,
  (n: number) => `#AA000${n}`,
  (n: number) => ["DKK", "EUR"][n - 1] ?? "SEK",
  (n: number) => ["DK", "SE"][n - 1] ?? "NO",
];
const numbers = [(n: number) => `${n}`, (n: number) => `${2000 + n}`, () => "0"];

/** No row can be generated for a table; the message says where to add rows by hand. */
export class FillError extends Error {
  override name = "FillError";
}

/**
 * Generates rows from the catalogue until each table has two rows, or the one row that a unique index allows. The
 * first row references the first row of each target table, the second row the second.
 * Runs in the caller's transaction.
 * @throws FillError when the table's checks reject all candidates
 */
export async function fillTables(client: pg.ClientBase, tables: readonly string[]): Promise<void> {
  let waiting = [...tables];
  while (waiting.length > 0) {
    const left: string[] = [];
    for (const table of waiting) if (!(await fillTable(client, table))) left.push(table);
    if (left.length === waiting.length)
      throw new FillError(
        `No rows can be generated for ${left.join(", ")}: they refer to empty tables`,
      );
    waiting = left;
  }
}

/** Returns false while a referenced table has too few rows. */
async function fillTable(client: pg.ClientBase, table: string): Promise<boolean> {
  const columns = await readColumns(client, table);
  for (const { target } of columns)
    if (target !== null && target !== table && (await countRows(client, target)) < 2) return false;
  const wanted = await rowsWanted(client, table);
  for (let number = (await countRows(client, table)) + 1; number <= wanted; number++)
    await insertRow(client, table, columns, number);
  return true;
}

/** Two rows, or one where a unique index over a constant, such as `((true))`, keeps the table to one. */
export async function rowsWanted(client: pg.ClientBase, table: string): Promise<number> {
  const { rowCount } = await client.query(
    `select from pg_index i where i.indrelid = $1::regclass and i.indisunique and pg_get_expr(i.indexprs, i.indrelid) = 'true'`,
    [table],
  );
  return rowCount === 0 ? 2 : 1;
}

async function countRows(client: pg.ClientBase, table: string): Promise<number> {
  return (await client.query(`select from ${table} limit 2`)).rowCount ?? 0;
}

async function readColumns(client: pg.ClientBase, table: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select quote_ident(a.attname) as name, a.attnum as position, format_type(t.oid, null) as type, k.target, k.target_column,
       (select array_agg(e.enumlabel::text order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid) as labels
     from pg_attribute a
       join pg_type d on d.oid = a.atttypid
       join pg_type t on t.oid = case when d.typtype = 'd' then d.typbasetype else d.oid end
       left join lateral (
         select c.confrelid::regclass::text as target, quote_ident(f.attname) as target_column
         from pg_constraint c
           join pg_attribute f on f.attrelid = c.confrelid
             and f.attnum = c.confkey[array_position(c.conkey, a.attnum)]
         where c.contype = 'f' and c.conrelid = a.attrelid and a.attnum = any (c.conkey)
         limit 1
       ) as k on true
     where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity = ''
       and (a.attnotnull and not a.atthasdef or k.target is not null)`,
    [table],
  );
  return rows;
}

async function insertRow(
  client: pg.ClientBase,
  table: string,
  columns: readonly Column[],
  number: number,
): Promise<void> {
  /** The index of each column's candidate; a violated check advances its columns. */
  const attempts = new Map<string, number>();
  for (;;) {
    const values = columns.map((column) => valueOf(column, number, attempts.get(column.name) ?? 0));
    await client.query("savepoint fill");
    try {
      const names = columns.map(({ name }) => name).join(", ");
      await client.query(
        columns.length === 0
          ? `insert into ${table} default values`
          : `insert into ${table} (${names}) values (${values.join(", ")})`,
      );
      await client.query("release savepoint fill");
      return;
    } catch (error) {
      await client.query("rollback to savepoint fill");
      const { constraint, message } = error as { constraint?: string; message: string };
      if (!(await advanceCandidates(client, table, { columns, attempts, constraint })))
        throw new FillError(
          `No row can be generated for ${table}: ${message}. Add two rows to dev/access/seed.ts`,
          { cause: error },
        );
    }
  }
}

/** Advances the columns of the violated check to their next candidate; false when there is none. */
async function advanceCandidates(
  client: pg.ClientBase,
  table: string,
  state: {
    columns: readonly Column[];
    attempts: Map<string, number>;
    constraint?: string | undefined;
  },
): Promise<boolean> {
  const { columns, attempts, constraint } = state;
  const { rows } = await client.query<{ name: string }>(
    `select quote_ident(a.attname) as name
     from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)
     where c.contype = 'c' and c.conrelid = $1::regclass and c.conname = $2`,
    [table, constraint ?? null],
  );
  const movable = columns.filter(
    (column) =>
      rows.some(({ name }) => name === column.name) &&
      (attempts.get(column.name) ?? 0) + 1 < candidatesOf(column).length,
  );
  for (const { name } of movable) attempts.set(name, (attempts.get(name) ?? 0) + 1);
  return movable.length > 0;
}

/** The expressions to try for a column, the most likely first. */
function candidatesOf({ type, labels, position }: Column): readonly ((number: number) => string)[] {
  if (labels) return [(number) => `'${labels[Math.min(number, labels.length) - 1]}'`];
  if (/^(smallint|integer|bigint|numeric|real|double precision)$/.test(type)) return numbers;
  if (type === "boolean") return [() => "true", () => "false"];
  if (/^(timestamp|date)/.test(type))
    return [
      (number) => `now() + interval '${number} hours'`,
      // The end of a period comes after its beginning.
      (number) => `now() + interval '${number} days ${position} hours'`,
    ];
  if (type === "uuid") return [() => "uuidv7()"];
  if (/^jsonb?$/.test(type)) return [() => "'{}'", () => "'[]'"];
  if (type.endsWith("[]")) return [() => "'{}'"];
  return textCandidates.map((text) => (number: number) => `'${text(number)}'`);
}

function valueOf(column: Column, number: number, attempt: number): string {
  const { target, target_column: key } = column;
  if (target !== null && key !== null)
    return `(select ${key} from ${target} order by ctid limit 1 offset ${number - 1})`;
  return candidatesOf(column)[attempt]?.(number) ?? "null";
}
