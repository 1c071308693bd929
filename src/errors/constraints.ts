import type { Pool } from "pg";
import pluralize from "pluralize";
import { insideSentence } from "../text/insideSentence.ts";

/** A constraint or unique index as described to callers, read from the catalogue. */
export interface Constraint {
  /** Its columns, by their names in the API; of a domain, the columns of this type in all tables. */
  fields: string[];
  /** Whether it is of a domain, so that the value of one of the fields violates it. */
  isOfDomain: boolean;
  /** Its comment: `must be ...` for a check, a sentence for a unique constraint. */
  message: string | null;
  /** The noun for rows that a foreign key refers to, such as `wine type`: the table's `@titleOne`, or its name. */
  target: string | null;
  /** The same for rows that a foreign key belongs to, in the plural, such as `product ratings`; else `@title`. */
  referrer: string | null;
}

const query = `
  with indexes as (
    select i.indexrelid, i.indrelid,
      -- The columns, and those in expressions such as lower(name), but not those of the condition.
      i.indkey::smallint[] || array(
        select a.attnum from pg_depend d
          join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
        where d.classid = 'pg_class'::regclass and d.objid = i.indexrelid
          and d.refclassid = 'pg_class'::regclass and d.refobjid = i.indrelid and d.refobjsubid > 0
          and pg_get_expr(i.indexprs, i.indrelid) ~ ('\\m' || regexp_replace(a.attname, '\\W', '\\\\\\&', 'g') || '\\M')
      ) as columns
    from pg_index i join pg_class r on r.oid = i.indexrelid
    where r.relnamespace = $1::regnamespace
  ), rules as (
    select c.conname as name, c.conrelid as relation, case when c.contype = 'x' then i.columns else c.conkey end as columns,
      c.confrelid as target, d.description as message, nullif(c.contypid, 0) as domain
    from pg_constraint c
      left join indexes i on i.indexrelid = c.conindid
      left join pg_description d on d.classoid = 'pg_constraint'::regclass and d.objoid = c.oid
    where c.connamespace = $1::regnamespace and c.contype in ('c', 'f', 'u', 'p', 'x')
    union all
    select r.relname, i.indrelid, x.columns, null, d.description, null
    from pg_index i join pg_class r on r.oid = i.indexrelid
      join indexes x using (indexrelid)
      left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = r.oid and d.objsubid = 0
    where r.relnamespace = $1::regnamespace and i.indisunique
      and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
  )
  select name, message, (select t.relname::text from pg_class t where t.oid = target) as target,
    substring(obj_description(target, 'pg_class') from '(?:^|\\n)@titleOne ([^\\n]+)') as "targetTitle",
    case when target is not null then (select r.relname::text from pg_class r where r.oid = relation) end as referrer,
    substring(obj_description(relation, 'pg_class') from '(?:^|\\n)@title ([^\\n]+)') as "referrerTitle",
    substring(obj_description(relation, 'pg_class') from '(?:^|\\n)@titleOne ([^\\n]+)') as "referrerTitleOne",
    domain is not null as "isOfDomain",
    case when domain is null then array(
      select a.attname::text from pg_attribute a where a.attrelid = relation and a.attnum = any (columns) order by a.attnum
    ) else array(
      select distinct a.attname::text from pg_attribute a join pg_class r on r.oid = a.attrelid
      where a.atttypid = domain and a.attnum > 0 and not a.attisdropped and r.relkind in ('r', 'p') and r.relnamespace = $1::regnamespace
      order by 1
    ) end as columns
  from rules`;

/** Reads the constraints of a schema; all tenants have the same. */
export async function readConstraints(
  pool: Pool,
  tenant: string,
): Promise<Map<string, Constraint>> {
  const { rows } = await pool.query<{
    name: string;
    message: string | null;
    target: string | null;
    targetTitle: string | null;
    referrer: string | null;
    referrerTitle: string | null;
    referrerTitleOne: string | null;
    isOfDomain: boolean;
    columns: string[];
  }>(query, [tenant]);
  return new Map(
    rows.map((row) => [
      row.name,
      {
        // The key is no subject of a check such as `parent_id <> id`.
        fields: row.columns
          .filter((column) => column !== "id" || row.columns.length === 1)
          .map(camelCase),
        isOfDomain: row.isOfDomain,
        // Without the tags at the start of the comment.
        message: row.message?.replace(/^(@[^\n]*(\n|$))*/, "").trim() || null,
        target: nounOf(row.target, row.targetTitle, pluralize.singular),
        referrer:
          row.referrer === null || row.referrerTitleOne === null
            ? nounOf(row.referrer, row.referrerTitle)
            : insideSentence(pluralize.plural(row.referrerTitleOne)),
      },
    ]),
  );
}

/** The title of a table, or its name as words, of which `form` makes a singular. */
function nounOf(
  table: string | null,
  title: string | null,
  form: (words: string) => string = (words) => words,
): string | null {
  if (table === null) return null;
  return title === null ? form(table.replaceAll("_", " ")) : insideSentence(title);
}

export function camelCase(column: string): string {
  return column.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}
