import type pg from "pg";

/** A column of a filled table. */
interface Column {
  relation: string;
  attribute: string;
  element: string;
  kind: string;
  list: boolean;
  refers: string | null;
}

/**
 * Fills tables with generated rows. Values are unique, except booleans and enums, where one row in a hundred
 * differs, and references, which point to rows of the other tables.
 * Drops all check constraints, so the database must not be shared.
 */
export async function fillTables(
  client: pg.ClientBase,
  tables: readonly string[],
  rows: number,
): Promise<void> {
  const { rows: columns } = await client.query<Column>(
    `select a.attrelid::regclass::text as relation, a.attname as attribute, e.oid::regtype::text as element,
       case when e.typtype = 'e' then 'E' else e.typcategory::text end as kind, t.typcategory = 'A' as list, (
         select k.confrelid::regclass::text from pg_constraint k where k.contype = 'f' and k.conrelid = a.attrelid and k.conkey = array[a.attnum]
       ) as refers
     from pg_attribute a join pg_type t on t.oid = a.atttypid
       join pg_type e on e.oid = case when t.typcategory = 'A' then t.typelem else t.oid end
     where a.attrelid = any ($1::text[]::regclass[]) and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     order by a.attnum`,
    [tables],
  );
  await client.query(
    `do $$ declare k record; begin
       for k in select conrelid::regclass as relation, conname from pg_constraint
         where contype = 'c' and connamespace = current_schema()::regnamespace and conrelid <> 0 and conislocal
       loop execute format('alter table %s drop constraint %I', k.relation, k.conname); end loop;
     end $$`,
  );
  await client.query("set session_replication_role = replica");
  for (const table of tables) {
    const own = columns.filter(({ relation }) => relation === table);
    const names = own.map(({ attribute }) => `"${attribute}"`).join(", ");
    const values = own.map((column) => valueOf(column)).join(", ");
    await client.query(
      `insert into ${table} (${names}) select ${values} from generate_series(1, ${rows}) i`,
    );
  }
  await client.query("set session_replication_role = default");
  await client.query(`vacuum analyze ${tables.join(", ")}`);
}

function valueOf({ relation, attribute, element, kind, list, refers }: Column): string {
  const value = () => {
    if (element === "uuid") return `md5('${refers ?? relation}' || i)::uuid`;
    if (kind === "E")
      return `(enum_range(null::${element}))[case when i % 100 = 0 then cardinality(enum_range(null::${element})) else 1 end]`;
    if (kind === "B") return "i % 100 = 0";
    if (kind === "N") return element === "numeric" ? "i / 150.0" : "i";
    if (kind === "D") return `(timestamptz '2020-01-01Z' + make_interval(hours => i))::${element}`;
    if (kind === "S") return `'v' || substr(md5('${attribute}' || i), 1, 12)`;
    if (element === "bytea") return `decode(md5('${attribute}' || i), 'hex')`;
    if (element.startsWith("json")) return `'{}'::${element}`;
    if (element === "tsvector") return `to_tsvector('simple', 'v' || i)`;
    return "null";
  };
  return list ? `array[${value()}]` : value();
}
