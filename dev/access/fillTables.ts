import type pg from "pg";

/** A column that a generated row must give. */
interface Column {
  name: string;
  type: string;
  /** The first two values of an enumeration. */
  labels: string[] | null;
  /** The table and column that it refers to. */
  target: string | null;
  target_column: string | null;
}

/** Text that passes the usual checks: a name, a key, an address, a colour, a currency, a country. */
const texts = [
  (n: number) => `Row ${n}`,
  (n: number) => `row_${n}`,
  (n: number) => `row${n}@example.com`,
  (n: number) => `https://example.com/${n}`,
  (n: number) => `#AA000${n}`,
  (n: number) => ["DKK", "EUR"][n - 1] ?? "SEK",
  (n: number) => ["DK", "SE"][n - 1] ?? "NO",
];
const numbers = [(n: number) => `${n}`, (n: number) => `${2000 + n}`, () => "0"];

/** A table for which no row could be made up; the message names the file that takes one by hand. */
export class FillError extends Error {
  override name = "FillError";
}

/**
 * Makes up two rows in each table that has fewer, from the catalogue: the first refers to the first row of what it refers to, the
 * second to the second. Runs in the transaction at hand. @throws FillError where the table's checks refuse all that is tried
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

/** Whether the table could be filled now: what it refers to must have rows. */
async function fillTable(client: pg.ClientBase, table: string): Promise<boolean> {
  const columns = await readColumns(client, table);
  for (const { target } of columns)
    if (target !== null && target !== table && (await countRows(client, target)) < 2) return false;
  for (let number = (await countRows(client, table)) + 1; number <= 2; number++)
    await insertRow(client, table, columns, number);
  return true;
}

async function countRows(client: pg.ClientBase, table: string): Promise<number> {
  return (await client.query(`select from ${table} limit 2`)).rowCount ?? 0;
}

async function readColumns(client: pg.ClientBase, table: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select quote_ident(a.attname) as name, format_type(t.oid, null) as type, k.target, k.target_column,
       (select array_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid) as labels
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
  /** Which of the candidates each column is at; a violated check moves its columns on. */
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
      if (!(await moveOn(client, table, { columns, attempts, constraint })))
        throw new FillError(
          `No row can be generated for ${table}: ${message}. Add two rows to dev/access/seed.ts`,
          { cause: error },
        );
    }
  }
}

/** Takes the next candidate for the columns of the check that was violated; false where there is none. */
async function moveOn(
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

/** The expressions that are tried for a column, the likeliest first. */
function candidatesOf({ type, labels }: Column): readonly ((number: number) => string)[] {
  if (labels) return [(number) => `'${labels[Math.min(number, labels.length) - 1]}'`];
  if (/^(smallint|integer|bigint|numeric|real|double precision)$/.test(type)) return numbers;
  if (type === "boolean") return [() => "true", () => "false"];
  if (/^(timestamp|date)/.test(type)) return [(number) => `now() + interval '${number} hours'`];
  if (type === "uuid") return [() => "uuidv7()"];
  if (/^jsonb?$/.test(type)) return [() => "'{}'", () => "'[]'"];
  if (type.endsWith("[]")) return [() => "'{}'"];
  return texts.map((text) => (number: number) => `'${text(number)}'`);
}

function valueOf(column: Column, number: number, attempt: number): string {
  const { target, target_column: key } = column;
  if (target !== null && key !== null)
    return `(select ${key} from ${target} order by ctid limit 1 offset ${number - 1})`;
  return candidatesOf(column)[attempt]?.(number) ?? "null";
}
